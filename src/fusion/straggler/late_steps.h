// Which rank came last in each step, and by how much it fell behind there. Private to the straggler analysis.
#pragma once

#include <vector>

#include "fusion/straggler/straggler.h"

namespace accel::fusion {

std::vector<LateStep> find_late_steps(const RankSet& set, const CollectiveMatching& matching,
                                      const std::vector<CollectiveTiming>& timings);

}  // namespace accel::fusion
