// A thread's share of one step as nodes: stretches in which the innermost slice stays the same, and calls, which are
// one node each. Internal to step_graph.
#pragma once

#include <utility>
#include <vector>

#include "analysis/event_index.h"
#include "analysis/step_graph/step_graph.h"
#include "base/interval_set.h"
#include "trace/trace_store.h"

namespace accel {

// A node with its recorded end; `root` tells that nothing was open on the thread when it began.
struct LaneNode {
  HostNode node;
  std::int64_t end_ns = 0;
  bool starts_root = false;  // a slice outside of all others (save those open before the window) starts here
  bool gap = false;          // between such slices
};

// Up to the end of the last slice in the window, or of the window with `fill`.
std::vector<LaneNode> walk_lane(const TraceStore& store, const EventIndex& index, std::uint16_t lane,
                                std::pair<std::uint32_t, std::uint32_t> rows, Interval window, bool fill);

}  // namespace accel
