// The critical path of a job: what the end of each step waited for, over all ranks. It goes back from the last
// collective to the rank that arrived there last, over what that rank did since the collective before, to whoever was
// last there, and so on. Each stretch is read on one rank's own clock: no aligned clock is needed. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "fusion/critical_path/match_index.h"
#include "fusion/straggler/collective_timing.h"

namespace accel::fusion {

struct PathPart {
  std::uint32_t rank = kNoRow;  // row of RankSet::ranks; kNoRow: transfers
  double ns = 0;
};

struct PathStep {
  std::int64_t step = 0;
  double path_ns = 0;           // from the last collective on the path of the step before to that of this one
  std::vector<PathPart> parts;  // longest first; adds up to path_ns
  std::uint32_t last = kNoRow;  // row of CollectiveMatching::collectives: the last one of the step on the path
};

// Ascending by step. The first step that the path reaches is not whole and is left out.
std::vector<PathStep> find_job_path(const RankSet& set, const CollectiveMatching& matching,
                                    const std::vector<CollectiveTiming>& timings, const MatchIndex& index);

}  // namespace accel::fusion
