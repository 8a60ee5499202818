#include "fusion/straggler/straggler.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "fusion/critical_path/job_replay.h"
#include "fusion/straggler/candidates.h"
#include "fusion/straggler/chance.h"
#include "fusion/straggler/delay_cost.h"
#include "fusion/straggler/job_step.h"
#include "fusion/straggler/late_steps.h"
#include "fusion/straggler/rank_profile.h"
#include "fusion/straggler/statistics.h"

namespace accel::fusion {
namespace {

constexpr double kLateShare = 0.02;  // of a mean step: a rank that is later than this is late
constexpr std::size_t kMostCauses = 8;
constexpr double kMostOfExcess = 1.1;  // a delay costs no more than it lasts, within what its measurement is off by
// The replay knows the collectives alone. What it says a step would save is shown where it is of the order of what the
// others were seen to wait.
constexpr double kLeastOfSeen = 0.5;
constexpr double kMostOfSeen = 1.1;
// A delay of which less than this share is left without the recording was the recording's.
constexpr double kOfRecording = 0.2;

class Analysis {
 public:
  Analysis(const RankSet& set, const CollectiveMatching& matching, const std::vector<CollectiveTiming>& timings,
           const MatchIndex& index)
      : set_(set), matching_(matching), timings_(timings), index_(index) {}

  StragglerAnalysis run() {
    out_.late_steps = find_late_steps(set_, matching_, timings_);
    if (out_.late_steps.empty()) return std::move(out_);
    for (const LateStep& step : out_.late_steps) steps_.push_back(step.step);
    for (const RankDigest& digest : set_.ranks) profiles_.push_back(profile_of(digest, steps_));
    pace_ = pace_of(set_, profiles_, steps_);
    chance_.emplace(set_, steps_);
    measure_step(set_, profiles_, steps_, out_);
    for (LateStep& step : out_.late_steps) step.late = step.lateness_ns >= kLateShare * out_.measured_step_ns;
    for (Candidate& candidate : find_candidates(set_, out_.late_steps)) judge(std::move(candidate));
    for (const double lateness : by_chance_) out_.late_by_chance_ns += lateness / static_cast<double>(steps_.size());
    std::stable_sort(out_.stragglers.begin(), out_.stragglers.end(), [](const Straggler& a, const Straggler& b) {
      return a.undisturbed_cost.expected_ns > b.undisturbed_cost.expected_ns;
    });
    name_patterns();
    estimate_step(set_, profiles_, pace_, out_);
    return std::move(out_);
  }

 private:
  // Same stage of a pipeline, and not late with it.
  bool is_peer(const Straggler& straggler, std::uint32_t rank) const {
    return set_.stage[rank] == set_.stage[straggler.ranks.front()] &&
           std::find(straggler.ranks.begin(), straggler.ranks.end(), rank) == straggler.ranks.end();
  }

  // The device, if it worked so much longer than the peers' that this makes most of the delay; else the host.
  LateSide side_of(const Straggler& straggler, const RankProfile& own,
                   const std::vector<const RankProfile*>& peers) const {
    for (const LateStep& step : out_.late_steps) {
      if (step.rank != straggler.ranks.front() || step.collective == kNoRow) continue;
      const Member& first = matching_.collectives[step.collective].members.front();
      if (set_.ranks[first.rank].events[first.event].place == EventPlace::host) return LateSide::host;
    }
    return excess(&RankProfile::device_ns, own, peers) >= straggler.lateness_ns / 2 ? LateSide::device : LateSide::host;
  }

  // Of one time of a mean step, beyond the median of the peers.
  static double excess(double RankProfile::* time, const RankProfile& own,
                       const std::vector<const RankProfile*>& peers) {
    std::vector<double> usual;
    usual.reserve(peers.size());
    for (const RankProfile* peer : peers) usual.push_back(peer->*time);
    return own.*time - median_of(std::move(usual));
  }

  void judge(Candidate candidate) {
    Straggler& straggler = candidate.straggler;
    std::vector<std::int64_t> late_in;
    late_in.reserve(candidate.steps.size());
    for (const LateStep* step : candidate.steps) late_in.push_back(step->step);
    const RankProfile own = profile_of(set_.ranks[straggler.ranks.front()], late_in);
    std::vector<RankProfile> same_steps;
    std::vector<const RankProfile*> peers;
    const bool always = straggler.steps_late == straggler.steps;
    same_steps.reserve(set_.ranks.size());
    for (std::uint32_t r = 0; r < set_.ranks.size(); ++r) {
      if (!is_peer(straggler, r)) continue;
      if (!always) same_steps.push_back(profile_of(set_.ranks[r], late_in));
      const RankProfile& peer = always ? profiles_[r] : same_steps.back();
      if (peer.steps > 0) peers.push_back(&peer);
    }
    straggler.side = side_of(straggler, own, peers);
    straggler.causes = straggler.side == LateSide::device ? device_differences(own, peers, out_.measured_step_ns)
                                                          : host_differences(own, peers, out_.measured_step_ns);
    const Reliability reliability = chance_->ask(straggler, candidate.steps);
    // Slower in everything and in nothing by itself: the recorder does that too, as far as its cost reaches.
    const bool by_recorder = straggler.side == LateSide::host && straggler.causes.empty() &&
                             recording_explains(straggler.ranks.front(), own, peers);
    if (!reliability.sure && !(by_recorder && straggler.pattern == LatePattern::persistent)) {
      for (LateStep* step : candidate.steps) by_chance_.push_back(step->lateness_ns);
      return;
    }
    if (reliability.once && candidate.steps.size() > 1) {
      // It fell behind once. Where nothing lets it catch up it comes last ever after, and does nothing for that.
      keep_step(candidate, *reliability.once);
      judge(std::move(candidate));
      return;
    }
    RecordedDelay delay = recorded_delay(candidate, own, peers);
    straggler.captured_cost_ns = delay.cost_ns;
    if (straggler.side == LateSide::device) {
      straggler.undisturbed_cost = cost_of_late_device(delay);
    } else if (!by_recorder) {
      straggler.undisturbed_cost = cost_of_late_host(pace_, delay);
    }
    if (straggler.causes.size() > kMostCauses) straggler.causes.resize(kMostCauses);
    ask_clocks(straggler);
    const bool real = straggler.undisturbed_cost.expected_ns >= kOfRecording * straggler.captured_cost_ns &&
                      straggler.undisturbed_cost.expected_ns > 0;
    replay(candidate);
    (real ? out_.stragglers : out_.of_recording).push_back(std::move(straggler));
  }

  RecordedDelay recorded_delay(const Candidate& candidate, const RankProfile& own,
                               const std::vector<const RankProfile*>& peers) const {
    const Straggler& straggler = candidate.straggler;
    const double longer =
        excess(straggler.side == LateSide::device ? &RankProfile::device_ns : &RankProfile::host_ns, own, peers);
    RecordedDelay delay;
    for (const LateCause& cause : straggler.causes) delay.caused_ns += cause.excess_ns();
    delay.often = static_cast<double>(straggler.steps_late) / static_cast<double>(straggler.steps);
    // Of a late device also what it works longer: its peers' work beside their waits hides lateness, and no cost.
    const double hidden = straggler.side == LateSide::device ? longer : 0;
    std::vector<double> costs;
    costs.reserve(candidate.steps.size());
    for (const LateStep* step : candidate.steps)
      costs.push_back(std::min(step->cost_ns, std::max(step->lateness_ns, hidden)));
    const double mean = mean_of(costs);
    delay.cost_ns = mean * delay.often;
    if (costs.size() > 1) delay.error_ns = delay.often * error_of_mean(costs, mean);
    // A rank that fell behind once stays behind where hosts run ahead of their devices: its peers wait in every step,
    // and lose nothing by it. A step of the job is longer by what this rank's own step is longer, and no more. Hosts
    // that run ahead also wait where nothing says so (a full launch queue): what the causes explain is there for sure.
    if (straggler.steps > 1)
      delay.cost_ns = std::min(delay.cost_ns, kMostOfExcess * delay.often * std::max({0.0, longer, delay.caused_ns}));
    return delay;
  }

  void replay(Candidate& candidate) {
    std::vector<std::uint32_t> ranks = candidate.straggler.ranks;
    std::sort(ranks.begin(), ranks.end());
    const std::vector<SavedStep> saved = replay_without_delay(set_, matching_, index_, ranks);
    double sum = 0;
    Straggler& straggler = candidate.straggler;
    for (LateStep* step : candidate.steps) {
      const auto at = std::lower_bound(saved.begin(), saved.end(), step->step,
                                       [](const SavedStep& one, std::int64_t number) { return one.step < number; });
      if (at == saved.end() || at->step != step->step) continue;
      if (at->ns >= kLeastOfSeen * step->cost_ns && at->ns <= kMostOfSeen * step->cost_ns) step->saved_ns = at->ns;
      sum += at->ns;
    }
    straggler.replayed_cost_ns = sum / static_cast<double>(straggler.steps);
    // What a host would do with the time is not in the collectives: it may run ahead, or wait for something else. And
    // no step is shorter than what its hosts need.
    const bool hosts_keep_up = out_.measured_step_ns - straggler.replayed_cost_ns >= pace_.host_ns + pace_.gap_ns;
    if (straggler.side == LateSide::device && hosts_keep_up &&
        straggler.replayed_cost_ns >= kLeastOfSeen * straggler.captured_cost_ns &&
        straggler.replayed_cost_ns <= kMostOfSeen * straggler.captured_cost_ns)
      return;
    for (LateStep* step : candidate.steps) step->saved_ns.reset();
  }

  // Who takes turns with nobody that is left comes late now and then.
  void name_patterns() {
    for (auto* list : {&out_.stragglers, &out_.of_recording}) {
      const auto alternate = [](const Straggler& one) { return one.pattern == LatePattern::alternating; };
      if (std::count_if(list->begin(), list->end(), alternate) != 1) continue;
      std::find_if(list->begin(), list->end(), alternate)->pattern = LatePattern::intermittent;
    }
  }

  bool recording_explains(std::uint32_t rank, const RankProfile& own,
                          const std::vector<const RankProfile*>& peers) const {
    const double slower = excess(&RankProfile::host_ns, own, peers);
    const RankTiming& timing = set_.ranks[rank].timing;
    double records = 0;
    double count = 0;
    for (const DigestStep& step : set_.ranks[rank].steps) {
      if (!step.complete) continue;
      records += step.work.records * timing.record_cost_ns + step.work.calls * timing.call_cost_ns +
                 step.work.frames * timing.frame_cost_ns;
      ++count;
    }
    // A recording makes a host slower, never late by itself.
    return count > 0 && slower > 0 && slower <= records / count;
  }

  void ask_clocks(Straggler& straggler) const {
    for (std::size_t i = 0; i < timings_.size(); ++i) {
      const CollectiveTiming& timing = timings_[i];
      const auto late = [&](std::uint32_t rank) {
        return std::find(straggler.ranks.begin(), straggler.ranks.end(), rank) != straggler.ranks.end();
      };
      if (timing.last == kNoRow || !late(timing.last) || timing.lateness_ns.empty()) continue;
      if (!timing.last_by_clock) {
        ++straggler.clock_unresolved;
      } else {
        ++(late(*timing.last_by_clock) ? straggler.clock_agrees : straggler.clock_disagrees);
      }
    }
  }

  const RankSet& set_;
  const CollectiveMatching& matching_;
  const std::vector<CollectiveTiming>& timings_;
  const MatchIndex& index_;
  JobPace pace_;
  std::optional<Chance> chance_;
  std::vector<double> by_chance_;  // lateness in the steps of ranks that are late by no more than chance
  StragglerAnalysis out_;
  std::vector<std::int64_t> steps_;
  std::vector<RankProfile> profiles_;
};

}  // namespace

std::string_view to_string(LateSide side) {
  switch (side) {
    case LateSide::host:
      return "host";
    case LateSide::device:
      return "device";
    case LateSide::unknown:
      break;
  }
  return "unknown";
}

std::string_view to_string(LatePattern pattern) {
  switch (pattern) {
    case LatePattern::persistent:
      return "persistent";
    case LatePattern::intermittent:
      return "intermittent";
    case LatePattern::one_off:
      return "one-off";
    case LatePattern::alternating:
      return "alternating";
  }
  return "intermittent";
}

StragglerAnalysis find_stragglers(const RankSet& set, const CollectiveMatching& matching,
                                  const std::vector<CollectiveTiming>& timings, const MatchIndex& index) {
  return Analysis(set, matching, timings, index).run();
}

}  // namespace accel::fusion
