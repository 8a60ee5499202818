// Step graph: what a step consists of and what waits for what, as a program that can be run again with other durations:
// the launching threads' own times, calls that give the device work, calls that wait for it, hand-overs between
// threads, device events with the streams that they run on. docs/design/what-if.md says how each edge is found.
// Constant after it is made; replays work on it or on a changed copy.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace accel {

enum class HostNodeKind : std::uint8_t {
  work,      // a thread's own time: the innermost slice stays the same
  launch,    // a call that gives the device work, or would have
  wait,      // a call that waits for device work
  allocate,  // a call that allocates or frees device memory; may wait
  begin,     // a thread begins what another one handed over
  join,      // a thread goes on when the one it handed over to is done
  arrival,   // a batch from another process
};

// What the host does at a stretch for longer is its own work (sleeping, decoding, an op on the CPU), which goes at its
// own pace; between two records of a job that gives a device work it does less.
inline constexpr std::int64_t kShortStretchNs = 100'000;

struct HostNode {
  static constexpr std::uint32_t kNone = 0xffffffffU;

  std::int64_t start_ns = 0;        // as recorded
  std::int64_t work_ns = 0;         // own host time
  std::int64_t lag_ns = 0;          // from the end of what it waits for until it goes on
  std::int64_t unexplained_ns = 0;  // part of lag_ns of no known cause
  SliceId slice;                    // innermost slice; invalid: outside of all
  std::uint32_t first_event = 0;    // device events that it launches: graph.events[first_event, + event_count)
  std::uint32_t event_count = 0;
  std::uint32_t other = kNone;  // begin, join: the lane waited for. wait: one device event, else whole streams
  std::uint64_t streams = 0;    // streams that it waits for, by bit (the last bit: all further ones)
  float records = 0;            // ops and ranges recorded since the thread's node before
  float calls = 0;              // runtime and driver calls
  float frames = 0;             // Python frames
  std::uint16_t lane = 0;       // thread, index into StepGraph::lanes
  HostNodeKind kind = HostNodeKind::work;
  bool event_start = false;  // wait: for the start of `other`, not its end
  bool waited = false;       // as recorded
};

enum class EventOrder : std::uint8_t {
  launch,    // starts when its launch has reached the device
  stream,    // when the event before it on its stream ends
  recorded,  // when an event of another stream ends, as recorded by event record and wait
  observed,  // likewise, but only the times say so
};

struct DeviceNode {
  DeviceEventId event;
  std::int64_t dur_ns = 0;
  std::int64_t latency_ns = 0;            // from the start of the launching call until it can start
  std::int64_t gap_ns = 0;                // from the end of the event before on the stream; negative: they overlap
  std::int64_t cross_gap_ns = 0;          // from the end of `after`
  std::int64_t unexplained_ns = 0;        // part of the lag that was waited for, of no known cause
  std::uint32_t after = HostNode::kNone;  // event of another stream, index into events
  std::uint16_t stream = 0;               // index into streams
  EventOrder order = EventOrder::launch;  // what it waited for as recorded
  bool communication = false;
};

// An event that also waits for one of another stream, though the times of its own step do not show it.
struct ImpliedEdge {
  std::uint32_t event = 0;  // indices into StepGraph::events; the one waited for may be of the step before
  std::uint32_t after = 0;
  std::int64_t gap_ns = 0;
};

struct StepGraph {
  struct Range {
    std::uint32_t step = 0;  // index into StepSegmentation::steps
    std::uint32_t first = 0, last = 0;
    std::int64_t start_ns = 0, end_ns = 0;
    double pace = 1;  // what its short stretches would take at the host's usual pace, over what they took; at most 1
  };
  std::vector<Range> steps;          // which nodes belong to which step, in order of time
  std::vector<HostNode> nodes;       // by step, then as recorded
  std::vector<DeviceNode> events;    // in the order of their launching nodes
  std::vector<ImpliedEdge> implied;  // by rising event
  std::vector<ThreadIndex> lanes;    // main thread first
  std::vector<StreamIndex> streams;
  std::uint32_t complete_steps = 0;  // of the capture; steps holds all of them or a choice
  double measured_step_ns = 0;       // mean over all complete steps, as StepSegmentation has it
  std::uint32_t queue_depth = 0;     // launches that a stream holds before the next one blocks
  bool queue_depth_seen = false;     // measured from blocked launches of this capture
  bool on_processor = false;         // device events are host time once more: ops of the launching threads themselves
  std::uint64_t recorded_edges = 0;  // between streams, by event record and wait
  std::uint64_t observed_edges = 0;  // between streams, from the times alone

  bool usable() const { return !steps.empty(); }
};

}  // namespace accel
