#include "fusion/rank_set/pipeline_stages.h"

#include <algorithm>
#include <map>
#include <utility>

#include "fusion/digest/collective_name.h"

namespace accel::fusion {
namespace {

bool is_send(const RankDigest& digest, const CommunicationEvent& event) { return digest.text(event.name) == "send"; }
bool is_recv(const RankDigest& digest, const CommunicationEvent& event) { return digest.text(event.name) == "recv"; }

// Most jobs have none: their events need not be read for that.
bool has_pairs(const RankDigest& digest) {
  return std::any_of(digest.names.begin(), digest.names.end(),
                     [](const std::string& name) { return name == "send" || name == "recv"; });
}

using Pair = std::pair<std::int64_t, std::int64_t>;  // from, to

// Sends that have a receive, if peers are read by `peer`.
template <typename Peer>
std::uint64_t met(const std::vector<RankDigest>& ranks, Peer peer) {
  std::map<Pair, Pair> counts;  // sends and receives
  for (const RankDigest& digest : ranks) {
    if (!has_pairs(digest)) continue;
    for (const CommunicationEvent& event : digest.events) {
      const bool send = is_send(digest, event);
      if (!send && !is_recv(digest, event)) continue;
      const std::int64_t other = peer(digest, event);
      if (other == kNotRecorded || other == digest.rank) continue;
      if (send) {
        ++counts[{*digest.rank, other}].first;
      } else {
        ++counts[{other, *digest.rank}].second;
      }
    }
  }
  std::uint64_t sum = 0;
  for (const auto& [pair, both] : counts) sum += static_cast<std::uint64_t>(std::min(both.first, both.second));
  return sum;
}

// Sends and receives of one operation begin and end as one.
bool exchanges_alone(const RankDigest& digest) {
  if (!has_pairs(digest)) return true;
  std::map<std::pair<std::int64_t, std::int64_t>, std::pair<int, int>> operations;
  for (const CommunicationEvent& event : digest.events) {
    if (is_send(digest, event)) ++operations[{event.start_ns, event.end_ns}].first;
    if (is_recv(digest, event)) ++operations[{event.start_ns, event.end_ns}].second;
  }
  return std::all_of(operations.begin(), operations.end(),
                     [](const auto& one) { return one.second.first == one.second.second; });
}

class Components {
 public:
  std::int64_t root(std::int64_t rank) {
    const auto at = above_.try_emplace(rank, rank).first;
    if (at->second == rank) return rank;
    // Halving the path keeps every later question short.
    std::int64_t one = rank;
    while (above_[one] != one) {
      above_[one] = above_[above_[one]];
      one = above_[one];
    }
    return one;
  }
  void join(std::int64_t a, std::int64_t b) {
    const std::int64_t root_a = root(a);
    const std::int64_t root_b = root(b);
    above_[std::max(root_a, root_b)] = std::min(root_a, root_b);
  }
  // Ranks by the smallest rank of their component, ascending.
  std::map<std::int64_t, std::vector<std::int64_t>> members() {
    std::vector<std::int64_t> all;
    for (const auto& [rank, above] : above_) all.push_back(rank);
    std::map<std::int64_t, std::vector<std::int64_t>> out;
    for (const std::int64_t rank : all) out[root(rank)].push_back(rank);
    return out;
  }

 private:
  std::map<std::int64_t, std::int64_t> above_;
};

}  // namespace

std::int64_t peer_as_rank(const CommunicationEvent& event) { return event.peer < 0 ? kNotRecorded : event.peer; }

std::int64_t peer_as_position(const RankDigest& digest, const CommunicationEvent& event) {
  if (event.peer < 0 || event.group >= digest.groups.size()) return kNotRecorded;
  const std::vector<std::int64_t>& ranks = digest.groups[event.group].ranks;
  const auto position = static_cast<std::uint64_t>(event.peer);
  return position < ranks.size() ? ranks[position] : kNotRecorded;
}

PeerReading::PeerReading(const std::vector<RankDigest>& ranks) {
  const std::uint64_t as_rank =
      met(ranks, [](const RankDigest&, const CommunicationEvent& event) { return peer_as_rank(event); });
  positions_ = met(ranks, peer_as_position) > as_rank;
}

std::vector<std::uint32_t> pipeline_stages(const std::vector<RankDigest>& ranks) {
  std::vector<std::uint32_t> stages(ranks.size(), 0);
  if (std::all_of(ranks.begin(), ranks.end(), exchanges_alone)) return stages;
  const PeerReading reading(ranks);
  Components components;
  for (const RankDigest& digest : ranks) {
    if (!has_pairs(digest)) continue;
    for (const CommunicationEvent& event : digest.events) {
      if (!is_send(digest, event) && !is_recv(digest, event)) continue;
      const std::int64_t other = reading.peer(digest, event);
      if (other != kNotRecorded) components.join(*digest.rank, other);
    }
  }
  std::map<std::int64_t, std::uint32_t> stage_of;
  for (const auto& [root, members] : components.members()) {
    for (std::uint32_t i = 0; i < members.size(); ++i) stage_of[members[i]] = i;
  }
  for (std::size_t row = 0; row < ranks.size(); ++row) {
    const auto at = stage_of.find(*ranks[row].rank);
    if (at != stage_of.end()) stages[row] = at->second;
  }
  return stages;
}

}  // namespace accel::fusion
