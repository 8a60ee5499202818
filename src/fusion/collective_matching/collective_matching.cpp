#include "fusion/collective_matching/collective_matching.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "fusion/collective_matching/alignment.h"
#include "fusion/collective_matching/point_to_point.h"
#include "fusion/collective_matching/step_matching.h"
#include "fusion/digest/collective_name.h"
#include "fusion/rank_set/pipeline_stages.h"

namespace accel::fusion {
namespace {

// Recorded numbers are believed when at least this share of the pairs that they make lie in the same step.
constexpr double kSameStep = 0.9;

using GroupKey = std::tuple<std::string, std::vector<std::int64_t>>;

// Events of one group, by row of the rank.
struct GroupEvents {
  ProcessGroup group;
  std::vector<RankEvents> by_rank;         // ascending by rank
  std::vector<RankEvents> point_to_point;  // sends and receives
};

class Matcher {
 public:
  explicit Matcher(const RankSet& set) : set_(set), reading_(set.ranks) {}

  CollectiveMatching match() {
    std::vector<GroupEvents> groups = collect();
    for (GroupEvents& group : groups) match_group(group);
    std::stable_sort(matching_.collectives.begin(), matching_.collectives.end(),
                     [](const MatchedCollective& a, const MatchedCollective& b) {
                       return std::tie(a.step, a.group, a.index) < std::tie(b.step, b.group, b.index);
                     });
    return std::move(matching_);
  }

 private:
  const CommunicationEvent& event(std::uint32_t rank, std::uint32_t row) const { return set_.ranks[rank].events[row]; }

  std::int64_t step_number(std::uint32_t rank, std::uint32_t row) const {
    const std::uint32_t step = event(rank, row).step;
    return step == kNoRow ? kNotRecorded : set_.ranks[rank].steps[step].number;
  }

  // A group whose ranks only some files state is the one of that name that holds the others' ranks.
  std::vector<GroupEvents> collect() const {
    std::map<std::string, std::vector<std::vector<std::int64_t>>> known;
    for (const RankDigest& digest : set_.ranks) {
      for (const ProcessGroup& group : digest.groups) {
        std::vector<std::vector<std::int64_t>>& of_name = known[group.name];
        if (!group.ranks.empty() && std::find(of_name.begin(), of_name.end(), group.ranks) == of_name.end())
          of_name.push_back(group.ranks);
      }
    }
    std::map<GroupKey, GroupEvents> groups;
    for (std::uint32_t r = 0; r < set_.ranks.size(); ++r) {
      const RankDigest& digest = set_.ranks[r];
      std::vector<GroupEvents*> rows;
      for (const ProcessGroup& recorded : digest.groups) {
        ProcessGroup group = recorded;
        for (const std::vector<std::int64_t>& ranks : known[group.name]) {
          if (group.ranks.empty() && std::binary_search(ranks.begin(), ranks.end(), digest.rank.value_or(-1)))
            group.ranks = ranks;
        }
        GroupEvents& events = groups[{group.name, group.ranks}];
        events.group = group;
        rows.push_back(&events);
      }
      for (std::uint32_t i = 0; i < digest.events.size(); ++i) {
        if (digest.events[i].group >= rows.size()) continue;
        GroupEvents& events = *rows[digest.events[i].group];
        const std::string_view name = digest.text(digest.events[i].name);
        std::vector<RankEvents>& into = name != "send" && name != "recv" ? events.by_rank : events.point_to_point;
        if (into.empty() || into.back().rank != r) {
          into.push_back({r, {}});
          into.back().events.reserve(digest.events.size() / digest.groups.size());
        }
        into.back().events.push_back(i);
      }
    }
    std::vector<GroupEvents> out;
    for (auto& [key, events] : groups)
      if (!events.by_rank.empty() || !events.point_to_point.empty()) out.push_back(std::move(events));
    return out;
  }

  void match_group(const GroupEvents& events) {
    MatchedGroup group;
    group.name = events.group.name;
    group.description = events.group.description;
    group.ranks = events.group.ranks;
    std::uint64_t all = 0;
    for (const auto& [rank, rows] : events.by_rank) {
      group.present.push_back(rank);
      all += rows.size();
    }
    index_ = static_cast<std::uint32_t>(matching_.groups.size());
    const std::size_t before = matching_.collectives.size();
    group.why = events.by_rank.size() > 1 ? match_by_sequence(events)
                : events.by_rank.empty()  ? "sends and receives, which are matched two ranks at a time"
                                          : "only one of its ranks is here";
    if (group.why.empty()) {
      group.method = MatchMethod::sequence;
    } else if (events.by_rank.size() > 1) {
      matching_.collectives.resize(before);
      StepMatching found = match_by_step(set_, events.by_rank);
      std::move(found.collectives.begin(), found.collectives.end(), std::back_inserter(matching_.collectives));
      add_divergences(std::move(found.divergences));
      if (matching_.collectives.size() > before) group.method = MatchMethod::step_order;
    }
    present_ = group.present.size();
    const std::size_t pairs_from = matching_.collectives.size();
    all += match_pairs(events, before, group);
    if (group.method == MatchMethod::none && matching_.collectives.size() > pairs_from)
      group.method = MatchMethod::step_order;
    std::uint64_t used = 0;
    for (std::size_t i = before; i < matching_.collectives.size(); ++i) {
      finish(matching_.collectives[i]);
      used += matching_.collectives[i].members.size();
    }
    group.matched = matching_.collectives.size() - before;
    group.unmatched = all - used;
    matching_.groups.push_back(std::move(group));
  }

  // Returns how many sends and receives there are.
  std::uint64_t match_pairs(const GroupEvents& events, std::size_t first, MatchedGroup& group) {
    if (events.point_to_point.empty()) return 0;
    std::uint64_t count = 0;
    for (const RankEvents& of_rank : events.point_to_point) {
      count += of_rank.events.size();
      group.present.push_back(of_rank.rank);
    }
    std::sort(group.present.begin(), group.present.end());
    group.present.erase(std::unique(group.present.begin(), group.present.end()), group.present.end());
    const bool lost = std::any_of(group.present.begin(), group.present.end(),
                                  [&](std::uint32_t rank) { return lost_records(set_.ranks[rank]); });
    PointToPoint found = match_point_to_point(set_, reading_, events.point_to_point);
    std::map<std::int64_t, std::uint32_t> place;  // pairs come after the collectives of their step
    for (std::size_t i = first; i < matching_.collectives.size(); ++i) {
      std::uint32_t& next = place[matching_.collectives[i].step];
      next = std::max(next, matching_.collectives[i].index + 1);
    }
    for (MatchedCollective& pair : found.pairs) {
      pair.index = place[pair.step]++;
      matching_.collectives.push_back(std::move(pair));
    }
    for (Divergence& divergence : found.divergences) divergence.records_lost = lost;
    add_divergences(std::move(found.divergences));
    return count;
  }

  void add_divergences(std::vector<Divergence> divergences) {
    for (Divergence& divergence : divergences) {
      divergence.group = index_;
      matching_.divergences.push_back(std::move(divergence));
    }
  }

  void finish(MatchedCollective& collective) const {
    collective.group = index_;
    collective.complete = collective.sender != kNoRow || collective.members.size() == present_;
  }

  // Empty: done. Otherwise why the recorded numbers cannot be used.
  std::string match_by_sequence(const GroupEvents& events) {
    std::map<std::int64_t, std::vector<Member>> by_number;
    for (const auto& [rank, rows] : events.by_rank) {
      std::int64_t last = kNotRecorded;
      for (const std::uint32_t row : rows) {
        const std::int64_t number = event(rank, row).sequence;
        if (number == kNotRecorded) return "not every operation has a sequence number";
        if (number <= last) return "sequence numbers repeat";
        last = number;
        by_number[number].push_back({.rank = rank, .event = row});
      }
    }
    std::uint64_t pairs = 0;
    std::uint64_t same_step = 0;
    std::map<std::int64_t, std::uint32_t> place;
    for (auto& [number, members] : by_number) {
      if (members.size() < 2) continue;
      const Member& first = members.front();
      const Signature signature = signature_of(set_.ranks[first.rank], event(first.rank, first.event));
      for (const Member& member : members) {
        if (signature_of(set_.ranks[member.rank], event(member.rank, member.event)) != signature)
          return "operations of one sequence number differ in name or size";
        ++pairs;
        same_step += step_number(member.rank, member.event) == step_number(first.rank, first.event) ? 1 : 0;
      }
      MatchedCollective collective;
      collective.name = signature.name;
      collective.step = step_number(first.rank, first.event);
      collective.index = place[collective.step]++;
      for (const Member& member : members) collective.add(set_.ranks[member.rank], member.rank, member.event);
      matching_.collectives.push_back(std::move(collective));
    }
    if (pairs == 0) return "the ranks share no sequence number";
    if (static_cast<double>(same_step) < kSameStep * static_cast<double>(pairs))
      return "sequence numbers join operations of different steps";
    return {};
  }

  const RankSet& set_;
  const PeerReading reading_;
  CollectiveMatching matching_;
  std::uint32_t index_ = 0;  // of the group at work
  std::size_t present_ = 0;  // ranks that take part in its collectives
};

}  // namespace

std::string_view to_string(MatchMethod method) {
  switch (method) {
    case MatchMethod::sequence:
      return "sequence number";
    case MatchMethod::step_order:
      return "step and order of issue";
    case MatchMethod::none:
      break;
  }
  return "none";
}

void MatchedCollective::add(const RankDigest& digest, std::uint32_t rank, std::uint32_t row) {
  const CommunicationEvent& event = digest.events[row];
  members.push_back({rank, row, event.start_ns, event.end_ns, event.overlapped_ns});
  bytes = std::max(bytes, event.bytes);
  if (dtype.empty()) dtype = digest.text(event.dtype);
  if (sequence == kNotRecorded) sequence = event.sequence;
  if (event.step == kNoRow || !digest.steps[event.step].complete) in_complete_step = false;
}

bool is_meeting(const MatchedCollective& collective) {
  return !is_one_sided(collective.name) || collective.sender != kNoRow;
}

CollectiveMatching match_collectives(const RankSet& set) { return Matcher(set).match(); }

}  // namespace accel::fusion
