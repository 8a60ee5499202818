// Links the calls of a step graph with device events: what each launches, what each event waited for, what each
// blocking call waited for. Internal to step_graph.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis/device_timeline.h"
#include "analysis/event_index.h"
#include "analysis/step_graph/step_graph.h"
#include "trace/trace_store.h"

namespace accel {

class DeviceOrder {
 public:
  // `graph` and the others outlive it.
  DeviceOrder(const TraceStore& store, const EventIndex& index, const DeviceTimeline& timeline, StepGraph& graph)
      : store_(store), index_(index), timeline_(timeline), graph_(graph) {}

  // Once, after all nodes are in the graph.
  void link();

 private:
  void attach_events();
  void measure_usual_times();
  void order_events();
  void order_event(DeviceNode& node, std::int64_t call_start_ns);
  bool follow_other_stream(DeviceNode& node, std::int64_t since_ns);
  void classify_calls();
  void classify_wait(HostNode& node, std::int64_t end_ns);
  void classify_own_copy(HostNode& node, std::int64_t end_ns);
  void classify_full_queue(HostNode& node, std::int64_t end_ns);
  // Of calls that waits name, by correlation.
  using CallStarts = std::unordered_map<std::int64_t, std::int64_t>;
  struct Launched {
    std::int64_t call_start_ns;
    std::uint32_t event;  // index into graph.events
  };
  void use_recorded_waits();
  CallStarts starts_of_calls_in_waits() const;
  void follow_record(const std::vector<Launched>& waiting, std::int64_t wait_ns, const std::vector<Launched>& other,
                     std::int64_t record_ns);
  std::int64_t start_of(const DeviceNode& node) const { return store_.device_events.start_ns[node.event.value]; }
  std::int64_t end_of(const DeviceNode& node) const { return timeline_.end_ns(store_, node.event.value); }

  const TraceStore& store_;
  const EventIndex& index_;
  const DeviceTimeline& timeline_;
  StepGraph& graph_;
  // By row of device_events: end of the event before on its stream (kNotRecorded: none), index into graph.events.
  std::vector<std::int64_t> previous_end_;
  std::vector<std::uint32_t> node_of_event_;
  std::int64_t usual_latency_ns_ = 0;
  std::int64_t usual_gap_ns_ = 0;
  std::int64_t usual_wait_call_ns_ = 0;  // own time of a call that has nothing to wait for
  std::int64_t usual_launch_ns_ = 0;
  struct Stream {
    std::uint32_t last = HostNode::kNone;     // events launched so far: index into graph.events
    std::vector<std::int64_t> launch_starts;  // of the first event of each launch
    std::vector<std::int64_t> launch_ends;    // running maximum of ends
    std::vector<std::uint32_t> launch_events;
  };
  std::vector<Stream> streams_;        // like graph.streams
  std::vector<std::uint32_t> depths_;  // seen when a full queue blocked a launch
};

}  // namespace accel
