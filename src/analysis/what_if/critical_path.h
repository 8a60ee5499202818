// The critical path of the replayed step: what the end of the step waited for, back to its beginning, each stretch by
// what kind of edge or node it is. The parts add up to the step exactly. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/step_graph/replay.h"
#include "analysis/step_graph/step_graph.h"
#include "trace/trace_store.h"

namespace accel {

enum class PathKind : std::uint8_t {
  host,    // a thread's own time
  launch,  // a launching call, and from it to the device
  kernel,
  copy,  // and set
  communication,
  device_queue,  // from one device event to the next, and launches blocked by a full queue
  sync,          // from the end of what was waited for until the host goes on
  hand_over,     // between threads
  allocation,
  data,  // a batch from other processes
  unexplained,
};
inline constexpr std::size_t kPathKinds = 11;
std::string_view to_string(PathKind kind);

struct PathPart {
  PathKind kind = PathKind::host;
  StringId name;  // of the op, call or kernel; invalid: host time outside of all
  double ns_per_step = 0;
};

struct CriticalPath {
  std::vector<PathPart> parts;  // most time first, per step of the replay's last round
  double total_ns = 0;          // per step
  double unexplained_share = 0;
};

// `replay` must have kept its causes.
CriticalPath critical_path(const TraceStore& store, const StepGraph& graph, const Replay& replay);

}  // namespace accel
