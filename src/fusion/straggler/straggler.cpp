#include "fusion/straggler/straggler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "fusion/critical_path/job_replay.h"
#include "fusion/straggler/delay_cost.h"
#include "fusion/straggler/late_steps.h"
#include "fusion/straggler/rank_profile.h"
#include "fusion/straggler/statistics.h"

namespace accel::fusion {
namespace {

constexpr double kLateShare = 0.02;        // of a mean step: a rank that is later than this is late
constexpr double kPersistentShare = 0.75;  // of the steps
constexpr std::size_t kMostCauses = 8;
constexpr std::size_t kMostCandidates = 32;  // judged; the latest ones
constexpr double kMostOfExcess = 1.1;  // a delay costs no more than it lasts, within what its measurement is off by
constexpr double kStandsOut = 3;       // times the largest lateness of any other rank
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
    pace_ = pace_of(set_, profiles_);
    measure_step();
    measure_exposed();
    for (LateStep& step : out_.late_steps) step.late = step.lateness_ns >= kLateShare * out_.measured_step_ns;
    for (Candidate& candidate : candidates()) judge(std::move(candidate));
    std::stable_sort(out_.stragglers.begin(), out_.stragglers.end(), [](const Straggler& a, const Straggler& b) {
      return a.undisturbed_cost.expected_ns > b.undisturbed_cost.expected_ns;
    });
    estimate_step();
    return std::move(out_);
  }

 private:
  void measure_step() {
    std::vector<double> means;
    for (const RankDigest& digest : set_.ranks)
      if (digest.timing.measured_step_ns > 0) means.push_back(digest.timing.measured_step_ns);
    out_.measured_step_ns = median_of(std::move(means));
  }

  void measure_exposed() {
    std::vector<double> exposed;
    for (std::size_t r = 0; r < profiles_.size(); ++r) {
      double waits = 0;
      std::size_t count = 0;
      for (const DigestStep& step : set_.ranks[r].steps) {
        if (!step.complete || !std::binary_search(steps_.begin(), steps_.end(), step.number)) continue;
        waits += static_cast<double>(step.host_wait_ns);
        ++count;
      }
      if (count > 0) exposed.push_back(profiles_[r].exposed_ns + waits / static_cast<double>(count));
    }
    if (exposed.empty()) return;
    out_.exposed_ns = mean_of(exposed);
    out_.exposed_waiting_ns = out_.exposed_ns - *std::min_element(exposed.begin(), exposed.end());
  }

  struct Candidate {
    Straggler straggler;
    std::vector<LateStep*> steps;
  };

  // Late steps by rank; by host, under its first rank, where nearly all of them are steps in which all of it was late.
  std::map<std::uint32_t, std::vector<LateStep*>> steps_by_unit() {
    std::map<std::uint32_t, std::pair<std::size_t, std::size_t>> of_host;  // by first rank: together, all
    std::map<std::string_view, std::uint32_t> first_of;
    for (const LateStep& step : out_.late_steps)
      if (step.late && !step.with.empty()) first_of[set_.ranks[step.rank].host] = step.with.front();
    const auto first_rank = [&](const LateStep& step) {
      const auto at = first_of.find(set_.ranks[step.rank].host);
      return set_.ranks[step.rank].host.empty() || at == first_of.end() ? kNoRow : at->second;
    };
    for (const LateStep& step : out_.late_steps) {
      const std::uint32_t first = step.late ? first_rank(step) : kNoRow;
      if (first == kNoRow) continue;
      of_host[first].first += step.with.empty() ? 0 : 1;
      ++of_host[first].second;
    }
    std::map<std::uint32_t, std::vector<LateStep*>> units;
    for (LateStep& step : out_.late_steps) {
      if (!step.late) continue;
      const std::uint32_t first = first_rank(step);
      const bool together = first != kNoRow && static_cast<double>(of_host[first].first) >=
                                                   kPersistentShare * static_cast<double>(of_host[first].second);
      units[together ? first : step.rank].push_back(&step);
    }
    return units;
  }

  // The rank that came last most often first, then the others of its host where all were late together.
  static std::vector<std::uint32_t> ranks_of(const std::vector<LateStep*>& steps) {
    std::map<std::uint32_t, std::size_t> last;
    const std::vector<std::uint32_t>* with = nullptr;
    for (const LateStep* step : steps) {
      ++last[step->rank];
      if (!step->with.empty()) with = &step->with;
    }
    const auto most =
        std::max_element(last.begin(), last.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    std::vector<std::uint32_t> ranks{most->first};
    if (with != nullptr && std::find(with->begin(), with->end(), most->first) != with->end() &&
        std::all_of(last.begin(), last.end(),
                    [&](const auto& one) { return std::find(with->begin(), with->end(), one.first) != with->end(); })) {
      for (const std::uint32_t rank : *with)
        if (rank != most->first) ranks.push_back(rank);
    }
    return ranks;
  }

  // Ranks, and hosts, that were late in enough of the steps, with how often.
  std::vector<Candidate> candidates() {
    const auto by_unit = steps_by_unit();
    const auto all = static_cast<double>(out_.late_steps.size());
    std::size_t late = 0;
    std::size_t repeated = 0;
    bool persistent = false;
    for (const auto& [unit, steps] : by_unit) {
      late += steps.size();
      repeated += steps.size() > 1 ? 1 : 0;
      persistent = persistent || static_cast<double>(steps.size()) >= kPersistentShare * all;
    }
    const bool alternating = !persistent && repeated > 1 && static_cast<double>(late) >= kPersistentShare * all;
    std::vector<Candidate> found;
    for (const auto& [unit, steps] : by_unit) {
      Candidate candidate;
      Straggler& one = candidate.straggler;
      one.ranks = ranks_of(steps);
      one.whole_host = one.ranks.size() > 1;
      one.steps = static_cast<std::uint32_t>(out_.late_steps.size());
      one.steps_late = static_cast<std::uint32_t>(steps.size());
      const bool most = static_cast<double>(steps.size()) >= kPersistentShare * all;
      one.pattern = alternating         ? LatePattern::alternating
                    : steps.size() == 1 ? LatePattern::one_off
                    : most              ? LatePattern::persistent
                                        : LatePattern::intermittent;
      one.lateness_low_ns = std::numeric_limits<double>::max();
      for (const LateStep* step : steps) {
        one.lateness_ns += step->lateness_ns / static_cast<double>(steps.size());
        one.lateness_low_ns = std::min(one.lateness_low_ns, step->lateness_ns);
        one.lateness_high_ns = std::max(one.lateness_high_ns, step->lateness_ns);
      }
      candidate.steps = steps;
      found.push_back(std::move(candidate));
    }
    std::stable_sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
      return a.straggler.lateness_ns * a.straggler.steps_late > b.straggler.lateness_ns * b.straggler.steps_late;
    });
    if (found.size() > kMostCandidates) found.resize(kMostCandidates);
    return found;
  }

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
    RecordedDelay delay = recorded_delay(candidate, own, peers);
    straggler.captured_cost_ns = delay.cost_ns;
    if (straggler.side == LateSide::device) {
      straggler.undisturbed_cost = cost_of_late_device(delay);
    } else if (!straggler.causes.empty() || !recording_explains(straggler.ranks.front(), own, peers)) {
      straggler.undisturbed_cost = cost_of_late_host(pace_, delay);
    }  // else slower in everything and in nothing by itself: the recorder does that too, as far as its cost reaches
    if (straggler.causes.size() > kMostCauses) straggler.causes.resize(kMostCauses);
    ask_clocks(straggler);
    const bool real = straggler.undisturbed_cost.expected_ns >= kOfRecording * straggler.captured_cost_ns &&
                      straggler.undisturbed_cost.expected_ns > 0 && is_no_chance(straggler);
    replay(candidate);
    (real ? out_.stragglers : out_.of_recording).push_back(std::move(straggler));
  }

  // Somebody comes last in every step. A band that reaches down to nothing is chance, unless the delay stands out from
  // all that others are late by.
  bool is_no_chance(const Straggler& straggler) const {
    if (straggler.undisturbed_cost.low_ns > 0) return true;
    double others = 0;
    for (const LateStep& step : out_.late_steps)
      if (std::find(straggler.ranks.begin(), straggler.ranks.end(), step.rank) == straggler.ranks.end())
        others = std::max(others, step.lateness_ns);
    return straggler.lateness_high_ns >= kStandsOut * others;
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
    for (const LateStep* step : candidate.steps)
      costs.push_back(std::min(step->cost_ns, std::max(step->lateness_ns, hidden)));
    const double mean = mean_of(costs);
    delay.cost_ns = mean * delay.often;
    if (costs.size() > 1) {
      double squares = 0;
      for (const double cost : costs) squares += (cost - mean) * (cost - mean);
      const auto count = static_cast<double>(costs.size());
      delay.error_ns = delay.often * std::sqrt(squares / (count - 1) / count);
    }
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
    for (LateStep* step : candidate.steps) {
      const auto at = std::lower_bound(saved.begin(), saved.end(), step->step,
                                       [](const SavedStep& one, std::int64_t number) { return one.step < number; });
      if (at == saved.end() || at->step != step->step) continue;
      step->saved_ns = at->ns;
      sum += at->ns;
    }
    candidate.straggler.replayed_cost_ns = sum / static_cast<double>(candidate.straggler.steps);
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

  // The rank that waits least sets the pace: its own undisturbed step is the job's.
  void estimate_step() {
    std::size_t pacing = profiles_.size();
    for (std::size_t r = 0; r < profiles_.size(); ++r) {
      if (profiles_[r].steps == 0 || !set_.ranks[r].timing.step) continue;
      if (pacing == profiles_.size() || profiles_[r].exposed_ns < profiles_[pacing].exposed_ns) pacing = r;
    }
    if (pacing == profiles_.size()) return;
    TimeBand band = *set_.ranks[pacing].timing.step;
    if (!out_.stragglers.empty() && out_.stragglers.front().side == LateSide::host && pace_.recording_costs) {
      // Two estimates of one step must agree: the one that its cost was taken from stands.
      const TimeBand& cost = out_.stragglers.front().undisturbed_cost;
      const double without = pace_.step_ns(pace_.slowing);
      band.expected_ns = std::max(band.expected_ns, without + cost.expected_ns);
      band.low_ns = std::min(band.low_ns, without + cost.low_ns);
      band.high_ns = std::max(band.high_ns, without + cost.high_ns);
    }
    out_.undisturbed_step = band;
  }

  const RankSet& set_;
  const CollectiveMatching& matching_;
  const std::vector<CollectiveTiming>& timings_;
  const MatchIndex& index_;
  JobPace pace_;
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
