// Keeps the nodes of a call tree that matter: those with the largest share of host or of device time; below each the
// others are one node of kind rest. Names are copied for those that stay. Internal to call_tree.
#pragma once

#include "analysis/call_tree/call_tree.h"
#include "analysis/call_tree/node_names.h"

namespace accel {

// `tree.nodes` whole, with their names in `names`; `tree.names` is filled.
void thin(CallTree& tree, NodeNames& names);

}  // namespace accel
