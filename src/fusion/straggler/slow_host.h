// Ranks that are late because their whole host is. Private to the straggler analysis.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "fusion/straggler/straggler.h"

namespace accel::fusion {

class SlowHosts {
 public:
  // Both must outlive it.
  SlowHosts(const RankSet& set, const CollectiveMatching& matching);

  // Fills `with` where all ranks of the late rank's host were late in the collective where its delay shows.
  void look_at(LateStep& step) const;

 private:
  const RankSet& set_;
  const CollectiveMatching& matching_;
  std::map<std::string_view, std::vector<std::uint32_t>> ranks_of_;
};

}  // namespace accel::fusion
