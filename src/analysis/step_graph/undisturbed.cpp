#include "analysis/step_graph/undisturbed.h"

#include <algorithm>
#include <vector>

namespace accel {

StepGraph without_recording(const StepGraph& graph, const RecordingCost& cost) {
  StepGraph out = graph;
  // A record costs before and after the interval that it shows: what the node itself cannot have spent on it, the next
  // ones of its thread have. What is left at the end of a step was never spent.
  std::vector<double> owed(std::max<std::size_t>(1, graph.lanes.size()));
  for (const StepGraph::Range& step : out.steps) {
    std::fill(owed.begin(), owed.end(), 0.0);
    for (std::uint32_t i = step.first; i < step.last; ++i) {
      HostNode& node = out.nodes[i];
      const auto off = [&node](double share) {
        return static_cast<std::int64_t>(share * static_cast<double>(std::min(node.work_ns, kShortStretchNs)));
      };
      node.work_ns -= off(cost.unrest * (1 - step.pace));
      node.work_ns -= off(cost.slowing);
      double& own = owed[node.lane];
      own += cost.record_ns * node.records + cost.call_ns * node.calls + cost.frame_ns * node.frames;
      const double paid = std::min(own, static_cast<double>(node.work_ns));
      own -= paid;
      node.work_ns -= static_cast<std::int64_t>(paid);
    }
  }
  if (graph.on_processor) {  // an op is as short as its host time has become
    for (DeviceNode& event : out.events) event.dur_ns = 0;
  }
  return out;
}

double without_recording(const TraceStore& store, std::pair<std::uint32_t, std::uint32_t> rows, Interval stretch,
                         const RecordingCost& cost, double pace) {
  const auto begin = store.slices.start_ns.begin();
  auto row =
      static_cast<std::uint32_t>(std::lower_bound(begin + rows.first, begin + rows.second, stretch.start_ns) - begin);
  double short_ns = 0;
  double records_ns = 0;
  std::int64_t at = stretch.start_ns;
  const auto add_until = [&](std::int64_t until) {
    short_ns += static_cast<double>(std::clamp<std::int64_t>(until - at, 0, kShortStretchNs));
    at = std::max(at, until);
  };
  for (; row < rows.second && store.slices.start_ns[row] < stretch.end_ns; ++row) {
    add_until(store.slices.start_ns[row]);
    const SliceKind kind = store.slices.kind[row];
    records_ns += kind == SliceKind::frame      ? cost.frame_ns
                  : store.is_call(SliceId(row)) ? cost.call_ns
                  : kind != SliceKind::overhead ? cost.record_ns
                                                : 0;
  }
  add_until(stretch.end_ns);
  const double kept = (1 - cost.unrest * (1 - pace)) * (1 - cost.slowing);
  return std::max(0.0, static_cast<double>(stretch.length_ns()) - (1 - kept) * short_ns - records_ns);
}

}  // namespace accel
