// What the steps of a job take when some ranks no longer fall behind: the collectives are replayed in their order, each
// ending when its last rank has come and the transfer is over, with arrivals as recorded, less what is saved. Only
// differences are computed, from local durations: no clock is needed. docs/design/fusion.md has the recursion. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "fusion/critical_path/match_index.h"

namespace accel::fusion {

struct SavedStep {
  std::int64_t step = 0;
  double ns = 0;  // by which this step is shorter
};

// With every rank of `ranks` (rows, ascending) as fast as the median of the others in each of its collectives. Steps
// ascending, each that has a collective.
std::vector<SavedStep> replay_without_delay(const RankSet& set, const CollectiveMatching& matching,
                                            const MatchIndex& index, const std::vector<std::uint32_t>& ranks);

}  // namespace accel::fusion
