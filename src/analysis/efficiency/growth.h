// How the time of one op grows with the size of its input, where the capture holds it with several sizes. Pure.
#pragma once

#include <vector>

#include "analysis/efficiency/efficiency.h"

namespace accel {

// Of the groups of one device; most time first.
std::vector<SizeGrowth> growth_of(const std::vector<WorkGroup>& groups);

}  // namespace accel
