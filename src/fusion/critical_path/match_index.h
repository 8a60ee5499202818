// Which matched collective an event of a rank is part of, and which collectives of a rank follow each other. Made once
// from the matching, linear in it; constant from then on.
#pragma once

#include <cstdint>
#include <vector>

#include "fusion/collective_matching/collective_matching.h"

namespace accel::fusion {

struct MatchIndex {
  struct Place {
    std::uint32_t event = 0;       // row of the rank's events
    std::uint32_t collective = 0;  // row of CollectiveMatching::collectives
    std::uint32_t member = 0;      // row of its members
  };
  std::vector<std::vector<Place>> of_rank;  // by row of RankSet::ranks, in the order of issue
  // All collectives, each after those that any of its ranks issued before it; where ranks contradict each other, in
  // the order of step, group and index.
  std::vector<std::uint32_t> order;
};

MatchIndex index_matching(const RankSet& set, const CollectiveMatching& matching);

}  // namespace accel::fusion
