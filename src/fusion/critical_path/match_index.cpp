#include "fusion/critical_path/match_index.h"

#include <algorithm>
#include <deque>

namespace accel::fusion {
namespace {

// Each collective when it is the next one of all its members.
std::vector<std::uint32_t> order_of(const CollectiveMatching& matching,
                                    const std::vector<std::vector<MatchIndex::Place>>& of_rank) {
  const std::size_t count = matching.collectives.size();
  std::vector<std::uint32_t> arrived(count, 0);
  std::vector<std::uint32_t> next(of_rank.size(), 0);
  std::vector<bool> done(count, false);
  std::vector<std::uint32_t> order;
  order.reserve(count);
  std::deque<std::uint32_t> ready;
  const auto arrive = [&](std::uint32_t rank) {
    if (next[rank] == of_rank[rank].size()) return;
    const std::uint32_t collective = of_rank[rank][next[rank]].collective;
    if (++arrived[collective] == matching.collectives[collective].members.size()) ready.push_back(collective);
  };
  const auto leave = [&](std::uint32_t collective) {
    done[collective] = true;
    order.push_back(collective);
    for (const Member& member : matching.collectives[collective].members) {
      std::uint32_t& at = next[member.rank];
      const auto& places = of_rank[member.rank];
      if (at == places.size() || places[at].collective != collective) continue;  // taken out of turn
      while (at < places.size() && done[places[at].collective]) ++at;
      arrive(member.rank);
    }
  };
  for (std::uint32_t rank = 0; rank < of_rank.size(); ++rank) arrive(rank);
  std::uint32_t stuck = 0;  // the first that was never ready
  while (order.size() < count) {
    if (ready.empty()) {
      while (done[stuck]) ++stuck;
      leave(stuck);
      continue;
    }
    const std::uint32_t collective = ready.front();
    ready.pop_front();
    if (!done[collective]) leave(collective);
  }
  return order;
}

}  // namespace

MatchIndex index_matching(const RankSet& set, const CollectiveMatching& matching) {
  MatchIndex index;
  std::vector<std::uint32_t> counts(set.ranks.size(), 0);
  for (const MatchedCollective& collective : matching.collectives)
    for (const Member& member : collective.members) ++counts[member.rank];
  index.of_rank.resize(set.ranks.size());
  for (std::size_t rank = 0; rank < counts.size(); ++rank) index.of_rank[rank].reserve(counts[rank]);
  for (std::uint32_t i = 0; i < matching.collectives.size(); ++i) {
    const std::vector<Member>& members = matching.collectives[i].members;
    for (std::uint32_t m = 0; m < members.size(); ++m)
      index.of_rank[members[m].rank].push_back({members[m].event, i, m});
  }
  for (std::vector<MatchIndex::Place>& places : index.of_rank) {
    std::stable_sort(places.begin(), places.end(),
                     [](const MatchIndex::Place& a, const MatchIndex::Place& b) { return a.event < b.event; });
  }
  index.order = order_of(matching, index.of_rank);
  return index;
}

}  // namespace accel::fusion
