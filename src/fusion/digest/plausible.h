// Whether the figures of a digest can be those of a recording. Sums and differences of those that can stay far from the
// end of 64 bits, so that nothing behind this check needs to ask. Pure, linear.
#pragma once

#include "fusion/digest/digest.h"

namespace accel::fusion {

bool is_plausible(const RankDigest& digest);

}  // namespace accel::fusion
