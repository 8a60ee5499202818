// Slack of what is off the critical path: how much longer each node of the undisturbed step could take, at every step,
// before the step does, if nothing else changes. Pure.
#pragma once

#include <vector>

#include "analysis/step_graph/replay.h"
#include "analysis/step_graph/step_graph.h"
#include "analysis/what_if/critical_path.h"
#include "trace/trace_store.h"

namespace accel {

// Nodes off the path of one kind and name.
struct SlackPart {
  PathKind kind = PathKind::host;
  StringId name;  // of the op, call or kernel; invalid: host time outside of all
  double count_per_step = 0;
  double ns_per_step = 0;  // their own time
  double least_ns = 0;     // slack of the one that has least
  double mean_ns = 0;
};

// Most time first. `replay` must have kept its constraints.
std::vector<SlackPart> slack_off_path(const TraceStore& store, const StepGraph& graph, const Replay& replay);

}  // namespace accel
