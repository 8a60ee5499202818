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
      node.work_ns -=
          static_cast<std::int64_t>(cost.slowing * static_cast<double>(std::min(node.work_ns, kShortStretchNs)));
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

}  // namespace accel
