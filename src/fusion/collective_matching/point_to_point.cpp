#include "fusion/collective_matching/point_to_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "fusion/collective_matching/alignment.h"
#include "fusion/rank_set/pipeline_stages.h"

namespace accel::fusion {
namespace {

// What one rank sent another in one step, as both saw it.
struct Lane {
  std::vector<Member> sends;
  std::vector<Member> receives;
};
using LaneKey = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // step, sender, receiver

class Matcher {
 public:
  Matcher(const RankSet& set, const PeerReading& reading) : set_(set), reading_(reading) {
    for (std::uint32_t row = 0; row < set.ranks.size(); ++row) rows_[set.rank_of(row)] = row;
  }

  PointToPoint match(const std::vector<RankEvents>& events) {
    for (const RankEvents& of_rank : events)
      for (const std::uint32_t row : of_rank.events) sort({.rank = of_rank.rank, .event = row});
    for (const auto& [key, lane] : lanes_) {
      const auto& [step, sender, receiver] = key;
      if (!complete(sender, step) || !complete(receiver, step)) continue;
      open_[{sender, receiver}] +=
          static_cast<std::int64_t>(lane.sends.size()) - static_cast<std::int64_t>(lane.receives.size());
    }
    for (const auto& [key, lane] : lanes_) match_lane(key, lane);
    return std::move(out_);
  }

 private:
  const CommunicationEvent& event(const Member& member) const { return set_.ranks[member.rank].events[member.event]; }

  void sort(const Member& member) {
    const RankDigest& digest = set_.ranks[member.rank];
    const CommunicationEvent& one = event(member);
    const std::int64_t other = reading_.peer(digest, one);
    const std::int64_t own = set_.rank_of(member.rank);
    if (other == kNotRecorded || other == own || one.step == kNoRow) return;
    const std::int64_t step = digest.steps[one.step].number;
    if (digest.text(one.name) == "send") {
      lanes_[{step, own, other}].sends.push_back(member);
    } else if (digest.text(one.name) == "recv") {
      lanes_[{step, other, own}].receives.push_back(member);
    }
  }

  std::vector<Signature> signatures(const std::vector<Member>& members) const {
    std::vector<Signature> out;
    out.reserve(members.size());
    for (const Member& member : members) out.push_back({"send_recv", event(member).bytes});
    return out;
  }

  bool complete(std::int64_t rank, std::int64_t number) const {
    const auto row = rows_.find(rank);
    if (row == rows_.end()) return false;  // its file is not here: nothing is missing from it
    const auto& steps = set_.ranks[row->second].steps;
    return std::any_of(steps.begin(), steps.end(),
                       [&](const DigestStep& step) { return step.number == number && step.complete; });
  }

  void match_lane(const LaneKey& key, const Lane& lane) {
    const auto& [step, sender, receiver] = key;
    const std::vector<Signature> sent = signatures(lane.sends);
    const std::vector<Signature> received = signatures(lane.receives);
    const std::vector<std::uint32_t> places = align(sent, received, !complete(receiver, step));
    for (std::size_t i = 0; i < lane.receives.size(); ++i) {
      if (places[i] == kNoRow) continue;
      MatchedCollective pair;
      pair.name = "send_recv";
      pair.step = step;
      pair.sender = lane.sends[places[i]].rank;
      const auto [first, second] = std::minmax(lane.sends[places[i]], lane.receives[i],
                                               [](const Member& a, const Member& b) { return a.rank < b.rank; });
      for (const Member& member : {first, second}) pair.add(set_.ranks[member.rank], member.rank, member.event);
      out_.pairs.push_back(std::move(pair));
    }
    if (sent == received || !complete(sender, step) || !complete(receiver, step)) return;
    // A receive may be issued in the step after its send: then as many are missing in one step as are left over in
    // the next. The first place says it all.
    if (open_[{sender, receiver}] == 0 && sent.size() != received.size()) return;
    if (!told_.insert({sender, receiver}).second) return;
    const auto place = static_cast<std::size_t>(
        std::mismatch(sent.begin(), sent.end(), received.begin(), received.end()).first - sent.begin());
    const auto text = [](const std::vector<Signature>& list, std::size_t at, const char* verb, std::int64_t rank) {
      if (at >= list.size()) return fmt::format("no further {} rank {}", verb, rank);
      if (list[at].bytes == kNotRecorded) return fmt::format("a {} rank {}", verb, rank);
      return fmt::format("a {} rank {} of {} bytes", verb, rank, list[at].bytes);
    };
    Divergence divergence;
    divergence.step = step;
    divergence.index = static_cast<std::uint32_t>(place);
    divergence.ranks = {receiver};
    divergence.they_issue = text(received, place, "receive from", sender);
    divergence.others_issue = text(sent, place, "send to", receiver);
    out_.divergences.push_back(std::move(divergence));
  }

  const RankSet& set_;
  const PeerReading& reading_;
  std::map<std::int64_t, std::uint32_t> rows_;
  std::map<LaneKey, Lane> lanes_;                                       // in the order of steps
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> open_;  // sends without a receive, whole steps alone
  std::set<std::pair<std::int64_t, std::int64_t>> told_;
  PointToPoint out_;
};

}  // namespace

PointToPoint match_point_to_point(const RankSet& set, const PeerReading& reading,
                                  const std::vector<RankEvents>& events) {
  return Matcher(set, reading).match(events);
}

}  // namespace accel::fusion
