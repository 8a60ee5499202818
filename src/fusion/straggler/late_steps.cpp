#include "fusion/straggler/late_steps.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "fusion/digest/collective_name.h"
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
      : set_(set), matching_(matching), timings_(timings) {
    for (std::uint32_t r = 0; r < set.ranks.size(); ++r) {
      for (std::uint32_t s = 0; s < set.ranks[r].steps.size(); ++s)
        rows_[r].try_emplace(set.ranks[r].steps[s].number, s);
    }
  }

  std::vector<LateStep> find() {
    std::vector<LateStep> out;
    std::size_t first = 0;
    for (const std::int64_t step : set_.step_numbers) {
      while (first < matching_.collectives.size() && matching_.collectives[first].step < step) ++first;
      std::size_t last = first;
      while (last < matching_.collectives.size() && matching_.collectives[last].step == step) ++last;
      if (last > first && whole(step)) out.push_back(of_step(step, first, last));
      first = last;
    }
    return out;
  }

 private:
  const DigestStep* row(std::uint32_t rank, std::int64_t step) const {
    const auto of_rank = rows_.find(rank);
    if (of_rank == rows_.end()) return nullptr;
    const auto at = of_rank->second.find(step);
    return at == of_rank->second.end() ? nullptr : &set_.ranks[rank].steps[at->second];
  }

  // Cut steps say nothing about who is late in them.
  bool whole(std::int64_t step) const {
    bool any = false;
    for (std::uint32_t r = 0; r < set_.ranks.size(); ++r) {
      const DigestStep* one = row(r, step);
      if (one != nullptr && !one->complete) return false;
      any = any || one != nullptr;
    }
    return any;
  }

  const CommunicationEvent& event(const Member& member) const { return set_.ranks[member.rank].events[member.event]; }

  LateStep of_step(std::int64_t step, std::size_t first, std::size_t last) const {
    // In the order in which each last rank issued them: one stream of events of that rank.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> order;  // event row on the last rank, collective
    for (std::size_t i = first; i < last; ++i) {
      if (is_one_sided(matching_.collectives[i].name)) continue;
      for (const Member& member : matching_.collectives[i].members)
        if (member.rank == timings_[i].last) order.emplace_back(member.event, static_cast<std::uint32_t>(i));
    }
    std::stable_sort(order.begin(), order.end());
    std::map<std::uint32_t, Lag> lags;
    std::map<std::uint32_t, std::uint32_t> before;  // collective in which the rank was last before
    for (const auto& [unused, i] : order) {
      const std::uint32_t rank = timings_[i].last;
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
    out.cost_ns = cost_of(step, out.rank);
    return out;
  }

  void add(std::uint32_t i, std::optional<std::uint32_t> earlier, Lag& lag) const {
    const MatchedCollective& collective = matching_.collectives[i];
    const CollectiveTiming& timing = timings_[i];
    double late = 0;
    std::vector<double> beside;
    for (std::size_t m = 0; m < collective.members.size(); ++m) {
      const CommunicationEvent& one = event(collective.members[m]);
      if (collective.members[m].rank == timing.last) {
        late = std::max(0.0, timing.lateness_ns[m]);
      } else {
        const double waited = static_cast<double>(one.end_ns - one.start_ns) - timing.transfer_ns;
        beside.push_back(std::min(std::max(0.0, waited), static_cast<double>(one.overlapped_ns)));
      }
    }
    double fresh = std::max(0.0, late - lag.ahead_ns);
    lag.ahead_ns = std::max(0.0, lag.ahead_ns - late);
    if (earlier) fresh = std::min(fresh, not_seen_before(i, *earlier, late));
    lag.ahead_ns += median_of(beside);
    lag.total_ns += fresh;
    if (lag.collective == kNoRow || fresh > lag.largest_ns) {
      lag.largest_ns = fresh;
      lag.collective = i;
    }
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
      const auto apart = static_cast<double>(event(a).start_ns - event(*b).start_ns);
      return apart < late_then ? std::max(0.0, late - late_then) : late;
    }
    return late;
  }

  // How much longer the others waited in the step than this rank did.
  double cost_of(std::int64_t step, std::uint32_t rank) const {
    std::vector<double> others;
    double own = 0;
    for (std::uint32_t r = 0; r < set_.ranks.size(); ++r) {
      const DigestStep* one = row(r, step);
      if (one == nullptr) continue;
      const auto waited = static_cast<double>(one->communication_exposed_ns + one->host_wait_ns);
      if (r == rank) {
        own = waited;
      } else {
        others.push_back(waited);
      }
    }
    return std::max(0.0, median_of(std::move(others)) - own);
  }

  const RankSet& set_;
  const CollectiveMatching& matching_;
  const std::vector<CollectiveTiming>& timings_;
  std::unordered_map<std::uint32_t, std::map<std::int64_t, std::uint32_t>> rows_;
};

}  // namespace

std::vector<LateStep> find_late_steps(const RankSet& set, const CollectiveMatching& matching,
                                      const std::vector<CollectiveTiming>& timings) {
  return LateSteps(set, matching, timings).find();
}

}  // namespace accel::fusion
