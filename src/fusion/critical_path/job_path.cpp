#include "fusion/critical_path/job_path.h"

#include <algorithm>
#include <map>
#include <optional>

namespace accel::fusion {
namespace {

class Walk {
 public:
  Walk(const RankSet& set, const CollectiveMatching& matching, const std::vector<CollectiveTiming>& timings,
       const MatchIndex& index)
      : set_(set), matching_(matching), timings_(timings), index_(index) {}

  std::vector<PathStep> walk() {
    std::optional<std::uint32_t> at = last_meeting();
    while (at) {
      const MatchedCollective& collective = matching_.collectives[*at];
      PathStep& step = step_of(collective.step, *at);
      add(step, kNoRow, timings_[*at].transfer_ns);
      at = before(*at, step);
    }
    std::reverse(steps_.begin(), steps_.end());
    // What came before the first collective of the recording is not known.
    if (!steps_.empty()) steps_.erase(steps_.begin());
    for (PathStep& step : steps_) {
      std::stable_sort(step.parts.begin(), step.parts.end(),
                       [](const PathPart& a, const PathPart& b) { return a.ns > b.ns; });
    }
    return std::move(steps_);
  }

 private:
  const CommunicationEvent& event(std::uint32_t rank, std::uint32_t row) const { return set_.ranks[rank].events[row]; }

  std::optional<std::uint32_t> last_meeting() const {
    for (auto at = index_.order.rbegin(); at != index_.order.rend(); ++at)
      if (usable(*at)) return *at;
    return std::nullopt;
  }
  bool usable(std::uint32_t i) const {
    return timings_[i].last != kNoRow && is_meeting(matching_.collectives[i]) &&
           matching_.collectives[i].step != kNotRecorded;
  }

  PathStep& step_of(std::int64_t number, std::uint32_t collective) {
    if (steps_.empty() || number < steps_.back().step) {
      steps_.push_back({number, 0, {}, collective});
    }
    return steps_.back();
  }

  static void add(PathStep& step, std::uint32_t rank, double ns) {
    step.path_ns += ns;
    const auto at =
        std::find_if(step.parts.begin(), step.parts.end(), [&](const PathPart& part) { return part.rank == rank; });
    if (at == step.parts.end()) {
      step.parts.push_back({rank, ns});
    } else {
      at->ns += ns;
    }
  }

  // The collective that ended last on the rank that everybody waited for, before it arrived here.
  std::optional<std::uint32_t> before(std::uint32_t i, PathStep& step) const {
    constexpr std::int64_t kJitterNs = 5'000;  // by which stamps of two events that follow each other may contradict
    constexpr std::size_t kMostLookedAt = 64;  // collectives of one rank that overlap each other
    const std::uint32_t rank = timings_[i].last;
    const std::vector<MatchIndex::Place>& places = index_.of_rank[rank];
    auto own = std::find_if(matching_.collectives[i].members.begin(), matching_.collectives[i].members.end(),
                            [&](const Member& member) { return member.rank == rank; });
    const std::int64_t start = event(rank, own->event).start_ns;
    const auto here =
        std::lower_bound(places.begin(), places.end(), own->event,
                         [](const MatchIndex::Place& place, std::uint32_t row) { return place.event < row; });
    std::optional<std::uint32_t> best;
    std::int64_t best_end = 0;
    std::size_t looked_at = 0;
    for (auto at = here; at != places.begin() && looked_at < kMostLookedAt; ++looked_at) {
      --at;
      const std::int64_t end = event(rank, at->event).end_ns;
      if (end > start + kJitterNs || !usable(at->collective) || (best && end <= best_end)) continue;
      best = at->collective;
      best_end = end;
    }
    if (best) add(step, rank, static_cast<double>(std::max<std::int64_t>(0, start - best_end)));
    return best;
  }

  const RankSet& set_;
  const CollectiveMatching& matching_;
  const std::vector<CollectiveTiming>& timings_;
  const MatchIndex& index_;
  std::vector<PathStep> steps_;
};

}  // namespace

std::vector<PathStep> find_job_path(const RankSet& set, const CollectiveMatching& matching,
                                    const std::vector<CollectiveTiming>& timings, const MatchIndex& index) {
  return Walk(set, matching, timings, index).walk();
}

}  // namespace accel::fusion
