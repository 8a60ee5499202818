#include "fusion/straggler/late_steps.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "fusion/digest/collective_name.h"
#include "fusion/straggler/slow_host.h"
#include "fusion/straggler/statistics.h"

namespace accel::fusion {
namespace {

// What one rank fell behind by in one step, collective by collective.
struct Lag {
  double total_ns = 0;
  double largest_ns = 0;
  std::uint32_t collective = kNoRow;
  double ahead_ns =
      0;  // work that the others did beside a wait: it shortens what they do next, and no rank is to blame
};

class LateSteps {
 public:
  LateSteps(const RankSet& set, const CollectiveMatching& matching, const std::vector<CollectiveTiming>& timings)
      : set_(set), matching_(matching), timings_(timings), hosts_(set, matching) {
    rows_.resize(set.step_numbers.size() * set.ranks.size(), kNoRow);
    for (std::uint32_t r = 0; r < set.ranks.size(); ++r) {
      for (std::uint32_t s = 0; s < set.ranks[r].steps.size(); ++s) {
        const auto at = place_of(set.ranks[r].steps[s].number);
        if (at && rows_[*at * set.ranks.size() + r] == kNoRow) rows_[*at * set.ranks.size() + r] = s;
      }
    }
    for (const MatchedCollective& pair : matching.collectives) {
      if (pair.sender == kNoRow) continue;
      for (const Member& member : pair.members) in_pairs_[{member.rank, pair.step}] += member.length_ns();
    }
  }

  std::vector<LateStep> find() {
    std::vector<LateStep> out;
    std::size_t first = 0;
    for (std::size_t place = 0; place < set_.step_numbers.size(); ++place) {
      const std::int64_t step = set_.step_numbers[place];
      while (first < matching_.collectives.size() && matching_.collectives[first].step < step) ++first;
      std::size_t last = first;
      while (last < matching_.collectives.size() && matching_.collectives[last].step == step) ++last;
      if (last > first && whole(place)) out.push_back(of_step(place, first, last));
      first = last;
    }
    return out;
  }

 private:
  std::optional<std::size_t> place_of(std::int64_t step) const {
    const auto at = std::lower_bound(set_.step_numbers.begin(), set_.step_numbers.end(), step);
    if (at == set_.step_numbers.end() || *at != step) return std::nullopt;
    return static_cast<std::size_t>(at - set_.step_numbers.begin());
  }

  const DigestStep* row(std::size_t place, std::uint32_t rank) const {
    const std::uint32_t at = rows_[place * set_.ranks.size() + rank];
    return at == kNoRow ? nullptr : &set_.ranks[rank].steps[at];
  }

  // Cut steps say nothing about who is late in them.
  bool whole(std::size_t place) const {
    bool any = false;
    for (std::uint32_t r = 0; r < set_.ranks.size(); ++r) {
      const DigestStep* one = row(place, r);
      if (one != nullptr && !one->complete) return false;
      any = any || one != nullptr;
    }
    return any;
  }

  // Ranks of different stages of a pipeline come when their stage is done, and none of them is late.
  bool of_one_stage(const MatchedCollective& collective) const {
    const std::uint32_t stage = set_.stage[collective.members.front().rank];
    return std::all_of(collective.members.begin(), collective.members.end(),
                       [&](const Member& member) { return set_.stage[member.rank] == stage; });
  }

  LateStep of_step(std::size_t place, std::size_t first, std::size_t last) const {
    const std::int64_t step = set_.step_numbers[place];
    // In the order in which each last rank issued them: one stream of events of that rank.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> order;  // event row on the last rank, collective
    for (std::size_t i = first; i < last; ++i) {
      if (is_one_sided(matching_.collectives[i].name) || !of_one_stage(matching_.collectives[i])) continue;
      for (const Member& member : matching_.collectives[i].members)
        if (member.rank == timings_[i].last) order.emplace_back(member.event, static_cast<std::uint32_t>(i));
    }
    std::stable_sort(order.begin(), order.end());
    LateStep out = latest(step, order, [](std::uint32_t rank) { return rank; });
    hosts_.look_at(out);
    if (!out.with.empty()) {
      // Its ranks take turns in being last: what one of them was late by before is not late again on another.
      const LateStep whole = latest(step, order, [&](std::uint32_t rank) {
        return std::binary_search(out.with.begin(), out.with.end(), rank) ? out.with.front() : rank;
      });
      if (whole.rank == out.with.front()) out.lateness_ns = std::max(out.lateness_ns, whole.lateness_ns);
    }
    out.cost_ns = cost_of(place, out);
    return out;
  }

  // Who fell behind most, if `unit` says which ranks count as one.
  template <typename Unit>
  LateStep latest(std::int64_t step, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& order,
                  Unit unit) const {
    std::map<std::uint32_t, Lag> lags;
    std::map<std::uint32_t, std::uint32_t> before;  // collective in which the unit was last before
    for (const auto& [unused, i] : order) {
      const std::uint32_t rank = unit(timings_[i].last);
      const auto earlier = before.find(rank);
      add(i, earlier == before.end() ? std::nullopt : std::optional(earlier->second), lags[rank]);
      before[rank] = i;
    }
    LateStep out;
    out.step = step;
    for (const auto& [rank, lag] : lags) {
      if (out.collective != kNoRow && lag.total_ns <= out.lateness_ns) continue;
      out.rank = rank;
      out.lateness_ns = lag.total_ns;
      out.collective = lag.collective;
    }
    return out;
  }

  void add(std::uint32_t i, std::optional<std::uint32_t> earlier, Lag& lag) const {
    const MatchedCollective& collective = matching_.collectives[i];
    const CollectiveTiming& timing = timings_[i];
    double late = 0;
    std::vector<double> beside;
    beside.reserve(collective.members.size());
    for (std::size_t m = 0; m < collective.members.size(); ++m) {
      const Member& one = collective.members[m];
      if (one.rank == timing.last) {
        late = std::max(0.0, timing.lateness_ns[m] - waited_for_others(collective, timing.last));
      } else {
        const double waited = one.length_ns() - timing.transfer_ns;
        beside.push_back(std::min(std::max(0.0, waited), static_cast<double>(one.overlapped_ns)));
      }
    }
    double fresh = std::max(0.0, late - lag.ahead_ns);
    lag.ahead_ns = std::max(0.0, lag.ahead_ns - late);
    if (earlier) fresh = std::min(fresh, not_seen_before(i, *earlier, late));
    lag.ahead_ns += median_of(std::move(beside));
    lag.total_ns += fresh;
    if (lag.collective == kNoRow || fresh > lag.largest_ns) {
      lag.largest_ns = fresh;
      lag.collective = i;
    }
  }

  // A rank that another one of its pipeline kept waiting is late, and not to blame: what it spent in sends and receives
  // of the step beyond the other ranks of its stage.
  double waited_for_others(const MatchedCollective& collective, std::uint32_t rank) const {
    if (in_pairs_.empty()) return 0;
    std::vector<double> others;
    double own = 0;
    for (const Member& member : collective.members) {
      const auto at = in_pairs_.find({member.rank, collective.step});
      const double spent = at == in_pairs_.end() ? 0 : at->second;
      if (member.rank == rank) {
        own = spent;
      } else {
        others.push_back(spent);
      }
    }
    return std::max(0.0, own - median_of(std::move(others)));
  }

  // Peers that had issued this collective while they still waited in the one before saw the same delay twice.
  double not_seen_before(std::uint32_t i, std::uint32_t earlier, double late) const {
    const MatchedCollective& now = matching_.collectives[i];
    const MatchedCollective& then = matching_.collectives[earlier];
    double late_then = 0;
    for (std::size_t m = 0; m < then.members.size(); ++m)
      if (then.members[m].rank == timings_[earlier].last) late_then = std::max(0.0, timings_[earlier].lateness_ns[m]);
    for (const Member& a : now.members) {
      if (a.rank == timings_[i].last) continue;
      const auto b =
          std::find_if(then.members.begin(), then.members.end(), [&](const Member& m) { return m.rank == a.rank; });
      if (b == then.members.end()) continue;
      const auto apart = static_cast<double>(a.start_ns - b->start_ns);
      return apart < late_then ? std::max(0.0, late - late_then) : late;
    }
    return late;
  }

  // How much longer the others waited in the step than this rank did.
  double cost_of(std::size_t place, const LateStep& late) const {
    std::vector<double> others;
    double own = 0;
    for (std::uint32_t r = 0; r < set_.ranks.size(); ++r) {
      const DigestStep* one = row(place, r);
      if (one == nullptr || set_.stage[r] != set_.stage[late.rank]) continue;
      const auto waited = static_cast<double>(one->communication_exposed_ns + one->host_wait_ns);
      if (r == late.rank) {
        own = waited;
      } else if (!std::binary_search(late.with.begin(), late.with.end(), r)) {
        others.push_back(waited);
      }
    }
    return std::max(0.0, median_of(std::move(others)) - own);
  }

  const RankSet& set_;
  const CollectiveMatching& matching_;
  const std::vector<CollectiveTiming>& timings_;
  const SlowHosts hosts_;
  std::map<std::pair<std::uint32_t, std::int64_t>, double> in_pairs_;  // by rank and step: time in sends and receives
  std::vector<std::uint32_t> rows_;  // of each rank's steps, by place in the set's and by rank
};

}  // namespace

std::vector<LateStep> find_late_steps(const RankSet& set, const CollectiveMatching& matching,
                                      const std::vector<CollectiveTiming>& timings) {
  return LateSteps(set, matching, timings).find();
}

}  // namespace accel::fusion
