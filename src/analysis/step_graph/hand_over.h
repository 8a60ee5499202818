// Hand-overs between the main thread and the other launching ones (autograd's): a burst of a thread's work that begins
// and ends while the main thread records nothing is work that the main thread asked for and waits for. Internal to
// step_graph.
#pragma once

#include <vector>

#include "analysis/step_graph/lane_walk.h"

namespace accel {

// lanes[0] is the main thread. Returns the nodes of all lanes in the order of their recorded starts, with begin and
// join nodes in between.
std::vector<HostNode> join_lanes(std::vector<std::vector<LaneNode>> lanes);

}  // namespace accel
