// Sends with the receives that they meet: by sender, receiver and step, in the order of issue. Private to the matching.
#pragma once

#include <vector>

#include "fusion/collective_matching/collective_matching.h"

namespace accel::fusion {

// Events of a group by row of the rank, sends and receives alone; adds a pair for each that meet, and the first place
// of each two ranks where they do not.
struct PointToPoint {
  std::vector<MatchedCollective> pairs;  // group and index are not set yet
  std::vector<Divergence> divergences;
};

struct RankEvents {
  std::uint32_t rank = 0;             // row of RankSet::ranks
  std::vector<std::uint32_t> events;  // in the order of issue
};

class PeerReading;
PointToPoint match_point_to_point(const RankSet& set, const PeerReading& reading,
                                  const std::vector<RankEvents>& events);

}  // namespace accel::fusion
