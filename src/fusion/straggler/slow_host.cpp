#include "fusion/straggler/slow_host.h"

#include <algorithm>

#include "fusion/straggler/statistics.h"

namespace accel::fusion {
namespace {

// Every rank of a slow host is late by at least this share of what its latest rank is late by: nobody on it is on time.
constexpr double kAllOfIt = 0.5;

}  // namespace

SlowHosts::SlowHosts(const RankSet& set, const CollectiveMatching& matching) : set_(set), matching_(matching) {
  for (std::uint32_t r = 0; r < set.ranks.size(); ++r)
    if (!set.ranks[r].host.empty()) ranks_of_[set.ranks[r].host].push_back(r);
}

void SlowHosts::look_at(LateStep& step) const {
  if (step.collective == kNoRow || ranks_of_.size() < 2) return;
  const std::string_view host = set_.ranks[step.rank].host;
  if (host.empty()) return;
  std::vector<double> own;  // how long each rank of this host was in the collective, and each of the others
  std::vector<double> others;
  std::vector<std::uint32_t> ranks;
  for (const Member& member : matching_.collectives[step.collective].members) {
    const double length = member.length_ns();
    if (set_.ranks[member.rank].host != host) {
      others.push_back(length);
    } else {
      own.push_back(length);
      ranks.push_back(member.rank);
    }
  }
  // All of this host that are here must be in it, or what the missing ones would show is not known.
  if (own.size() < 2 || others.empty() || ranks.size() != ranks_of_.find(host)->second.size()) return;
  const double usual = median_of(others);
  const double latest = usual - *std::min_element(own.begin(), own.end());
  const double earliest = usual - *std::max_element(own.begin(), own.end());
  if (latest <= 0 || earliest < kAllOfIt * latest) return;
  step.with = std::move(ranks);
}

}  // namespace accel::fusion
