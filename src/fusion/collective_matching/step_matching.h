// Collectives of one group by step and order of issue: for groups whose recorded sequence numbers cannot be used. What
// most ranks issued in a step is the list that all are compared with. Private to the matching.
#pragma once

#include <vector>

#include "fusion/collective_matching/point_to_point.h"

namespace accel::fusion {

struct StepMatching {
  std::vector<MatchedCollective> collectives;  // ascending by step and index; group is not set yet
  std::vector<Divergence> divergences;         // the first place alone: what follows is a consequence
};

StepMatching match_by_step(const RankSet& set, const std::vector<RankEvents>& events);

// Its recording is known to have lost records.
bool lost_records(const RankDigest& digest);

}  // namespace accel::fusion
