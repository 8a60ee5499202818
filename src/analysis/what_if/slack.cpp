#include "analysis/what_if/slack.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

namespace accel {
namespace {

constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max() / 4;
// Less than this is on the path: clocks tell no more.
constexpr std::int64_t kOnPathNs = 1'000;

// From the end of the last round back to the round before it, whose nodes are then looked at: what they delay in the
// next step counts too.
class BackwardPass {
 public:
  BackwardPass(const StepGraph& graph, const Replay& replay)
      : graph_(graph),
        node_end_(2 * graph.nodes.size(), kUnbounded),
        event_start_(2 * graph.events.size(), kUnbounded),
        event_end_(2 * graph.events.size(), kUnbounded) {
    end_at(replay);
    for (auto at = replay.constraints.rbegin(); at != replay.constraints.rend(); ++at) {
      if (at->from.round == 0) continue;
      std::int64_t& from = slot(at->from, at->from_start);
      from = std::min(from, slack_of(at->to) + at->spare_ns);
    }
  }

  std::int64_t node(std::uint32_t i) const { return node_end_[i]; }
  std::int64_t event(std::uint32_t e) const { return event_end_[e]; }

 private:
  // What sets the pace has to be over by then; the rest only in time for that.
  void end_at(const Replay& replay) {
    const auto last = static_cast<std::uint8_t>(kReplayRounds - 1);
    if (replay.device_step_ns > replay.host_step_ns) {
      const auto from = replay.event_end_ns.begin() + static_cast<std::ptrdiff_t>(last * graph_.events.size());
      const auto latest = std::max_element(from, replay.event_end_ns.end());
      slot({Cause::Kind::device, static_cast<std::uint32_t>(latest - from), last}, false) = 0;
      return;
    }
    for (std::uint32_t i = static_cast<std::uint32_t>(graph_.nodes.size()); i-- > 0;) {
      if (graph_.nodes[i].lane != 0) continue;
      slot({Cause::Kind::host, i, last}, false) = 0;
      return;
    }
  }

  std::int64_t& slot(Cause of, bool at_start) {
    const std::size_t round = of.round - 1U;
    if (of.kind == Cause::Kind::host) return node_end_[round * graph_.nodes.size() + of.index];
    return (at_start ? event_start_ : event_end_)[round * graph_.events.size() + of.index];
  }
  // By how much what leads to it may be later.
  std::int64_t slack_of(Cause to) {
    if (to.kind == Cause::Kind::host) return slot(to, false);
    return std::min(slot(to, false), slot(to, true));
  }

  const StepGraph& graph_;
  std::vector<std::int64_t> node_end_;  // rounds 1 and 2
  std::vector<std::int64_t> event_start_;
  std::vector<std::int64_t> event_end_;
};

// A thread or stream cannot do more in a step than fits into one.
struct Room {
  std::vector<std::int64_t> of_lane;
  std::vector<std::int64_t> of_stream;

  Room(const StepGraph& graph, double step_ns)
      : of_lane(std::max<std::size_t>(1, graph.lanes.size()), 0), of_stream(graph.streams.size(), 0) {
    for (const HostNode& node : graph.nodes) of_lane[node.lane] += node.work_ns;
    for (const DeviceNode& event : graph.events) of_stream[event.stream] += event.dur_ns;
    const auto steps = static_cast<std::int64_t>(graph.steps.size());
    for (auto* times : {&of_lane, &of_stream})
      for (std::int64_t& ns : *times) ns = std::max<std::int64_t>(0, static_cast<std::int64_t>(step_ns) - ns / steps);
  }
};

struct Sum {
  std::uint64_t count = 0;
  std::int64_t ns = 0;
  std::int64_t least_ns = kUnbounded;
  double slack_ns = 0;

  void add(std::int64_t own_ns, std::int64_t slack) {
    ++count;
    ns += own_ns;
    least_ns = std::min(least_ns, slack);
    slack_ns += static_cast<double>(slack);
  }
};

}  // namespace

std::vector<SlackPart> slack_off_path(const TraceStore& store, const StepGraph& graph, const Replay& replay) {
  std::vector<SlackPart> parts;
  if (!graph.usable() || replay.node_end_ns.empty()) return parts;
  const BackwardPass pass(graph, replay);
  const Room room(graph, replay.step_ns);
  std::map<std::pair<PathKind, std::uint32_t>, Sum> sums;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const HostNode& node = graph.nodes[i];
    const std::int64_t slack = std::min(pass.node(i), room.of_lane[node.lane]);
    const bool own =
        node.kind == HostNodeKind::work || node.kind == HostNodeKind::launch || node.kind == HostNodeKind::allocate;
    if (!own || node.work_ns <= 0 || slack < kOnPathNs) continue;
    const PathKind kind = node.kind == HostNodeKind::work     ? PathKind::host
                          : node.kind == HostNodeKind::launch ? PathKind::launch
                                                              : PathKind::allocation;
    const StringId name = node.slice.valid() ? store.slices.name[node.slice.value] : StringId();
    sums[{kind, name.value}].add(node.work_ns, slack);
  }
  for (std::uint32_t e = 0; e < graph.events.size(); ++e) {
    const DeviceNode& event = graph.events[e];
    const std::int64_t slack = std::min(pass.event(e), room.of_stream[event.stream]);
    if (event.dur_ns <= 0 || slack < kOnPathNs) continue;
    const bool kernel = store.device_events.kind[event.event.value] == DeviceEventKind::kernel;
    const PathKind kind = event.communication ? PathKind::communication : kernel ? PathKind::kernel : PathKind::copy;
    sums[{kind, store.device_events.name[event.event.value].value}].add(event.dur_ns, slack);
  }
  const auto steps = static_cast<double>(graph.steps.size());
  for (const auto& [key, sum] : sums)
    parts.push_back({key.first, StringId(key.second), static_cast<double>(sum.count) / steps,
                     static_cast<double>(sum.ns) / steps, static_cast<double>(sum.least_ns),
                     sum.slack_ns / static_cast<double>(sum.count)});
  std::stable_sort(parts.begin(), parts.end(),
                   [](const SlackPart& a, const SlackPart& b) { return a.ns_per_step > b.ns_per_step; });
  return parts;
}

}  // namespace accel
