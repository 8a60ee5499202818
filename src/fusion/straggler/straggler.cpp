#include "fusion/straggler/straggler.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "fusion/straggler/late_steps.h"
#include "fusion/straggler/rank_profile.h"
#include "fusion/straggler/statistics.h"

namespace accel::fusion {
namespace {

constexpr double kLateShare = 0.02;        // of a mean step: a rank that is later than this is late
constexpr double kPersistentShare = 0.75;  // of the steps
constexpr std::size_t kMostCauses = 8;
constexpr double kMostOfExcess = 1.1;  // a delay costs no more than it lasts, within what its measurement is off by
constexpr double kExcessLow = 0.9;
constexpr double kExcessHigh = 1.1;

// A host that sets the pace runs this much slower while it is recorded: the middle and the ends of what was measured on
// captures with a known truth (docs/design/fusion.md).
constexpr double kSlowdown = 1.9;
constexpr double kMostSlowdown = 2.5;
constexpr double kLeastSlowdown = 1.4;
// What a straggler costs is known to about a factor of 1.4 both ways at best.
const double kBand = std::sqrt(2.0);
// A delay of which less than this share is left without the recording was the recording's.
constexpr double kOfRecording = 0.2;

class Analysis {
 public:
  Analysis(const RankSet& set, const CollectiveMatching& matching, const std::vector<CollectiveTiming>& timings)
      : set_(set), matching_(matching), timings_(timings) {}

  StragglerAnalysis run() {
    out_.late_steps = find_late_steps(set_, matching_, timings_);
    if (out_.late_steps.empty()) return std::move(out_);
    for (const LateStep& step : out_.late_steps) steps_.push_back(step.step);
    for (const RankDigest& digest : set_.ranks) profiles_.push_back(profile_of(digest, steps_));
    measure_step();
    measure_exposed();
    for (Straggler& straggler : candidates()) judge(std::move(straggler));
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

  // Ranks that were late in enough of the steps, with how often.
  std::vector<Straggler> candidates() const {
    std::map<std::uint32_t, std::vector<const LateStep*>> by_rank;
    for (const LateStep& step : out_.late_steps) {
      if (step.lateness_ns >= kLateShare * out_.measured_step_ns) by_rank[step.rank].push_back(&step);
    }
    const auto all = static_cast<double>(out_.late_steps.size());
    std::size_t late = 0;
    std::size_t repeated = 0;
    bool persistent = false;
    for (const auto& [rank, steps] : by_rank) {
      late += steps.size();
      repeated += steps.size() > 1 ? 1 : 0;
      persistent = persistent || static_cast<double>(steps.size()) >= kPersistentShare * all;
    }
    const bool alternating = !persistent && repeated > 1 && static_cast<double>(late) >= kPersistentShare * all;
    std::vector<Straggler> found;
    for (const auto& [rank, steps] : by_rank) {
      Straggler one;
      one.ranks = {rank};
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
        one.captured_cost_ns += std::min(step->cost_ns, step->lateness_ns) / all;
      }
      found.push_back(std::move(one));
    }
    return found;
  }

  std::vector<const RankProfile*> peers_of(std::uint32_t rank) const {
    std::vector<const RankProfile*> peers;
    for (std::uint32_t r = 0; r < profiles_.size(); ++r)
      if (r != rank && profiles_[r].steps > 0) peers.push_back(&profiles_[r]);
    return peers;
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

  void judge(Straggler straggler) {
    const std::uint32_t rank = straggler.ranks.front();
    const RankProfile own = profile_of(set_.ranks[rank], steps_late(rank));
    std::vector<RankProfile> same_steps;
    std::vector<const RankProfile*> peers;
    if (straggler.steps_late == straggler.steps) {
      peers = peers_of(rank);
    } else {
      for (std::uint32_t r = 0; r < set_.ranks.size(); ++r)
        if (r != rank) same_steps.push_back(profile_of(set_.ranks[r], steps_late(rank)));
      for (const RankProfile& peer : same_steps)
        if (peer.steps > 0) peers.push_back(&peer);
    }
    straggler.side = side_of(straggler, own, peers);
    std::vector<LateCause> host = host_differences(own, peers, out_.measured_step_ns);
    std::vector<LateCause> device = device_differences(own, peers, out_.measured_step_ns);
    straggler.causes = straggler.side == LateSide::device ? std::move(device) : std::move(host);
    const double often = static_cast<double>(straggler.steps_late) / static_cast<double>(straggler.steps);
    // A rank that fell behind once stays behind where hosts run ahead of their devices: its peers wait in every step,
    // and lose nothing by it. A step of the job is longer by what this rank's own step is longer, and no more.
    if (straggler.steps > 1) {
      const double longer =
          excess(straggler.side == LateSide::device ? &RankProfile::device_ns : &RankProfile::host_ns, own, peers);
      straggler.captured_cost_ns = std::min(straggler.captured_cost_ns, kMostOfExcess * often * std::max(0.0, longer));
    }
    straggler.undisturbed_cost = undisturbed_cost(straggler, own, peers);
    if (straggler.causes.size() > kMostCauses) straggler.causes.resize(kMostCauses);
    ask_clocks(straggler);
    const bool real = straggler.undisturbed_cost.expected_ns >= kOfRecording * straggler.captured_cost_ns &&
                      straggler.undisturbed_cost.expected_ns > 0;
    (real ? out_.stragglers : out_.of_recording).push_back(std::move(straggler));
  }

  std::vector<std::int64_t> steps_late(std::uint32_t rank) const {
    std::vector<std::int64_t> steps;
    for (const LateStep& step : out_.late_steps)
      if (step.rank == rank && step.lateness_ns >= kLateShare * out_.measured_step_ns) steps.push_back(step.step);
    return steps;
  }

  // Host time of a step that all ranks share, without the recording, if that slows a host by `slowdown`.
  double common_host_ns(double slowdown) const {
    std::vector<double> hosts;
    double least_gap = std::numeric_limits<double>::max();
    for (const RankProfile& profile : profiles_) {
      if (profile.steps == 0) continue;
      double gap = 0;  // the longest stretch without a record: not the recorder's, and a straggler's cause
      for (const auto& [key, share] : profile.host)
        if (std::get<0>(key).empty()) gap = std::max(gap, share.longest_ns);
      hosts.push_back((profile.host_ns - gap) / slowdown);
      least_gap = std::min(least_gap, gap);
    }
    return hosts.empty() ? 0 : median_of(std::move(hosts)) + least_gap;
  }
  double common_device_ns() const {
    std::vector<double> devices;
    double exposed = std::numeric_limits<double>::max();
    for (const RankProfile& profile : profiles_) {
      if (profile.steps == 0) continue;
      devices.push_back(profile.device_ns);
      exposed = std::min(exposed, profile.exposed_ns);
    }
    return devices.empty() ? 0 : median_of(std::move(devices)) + exposed;
  }
  bool recording_costs() const {
    return std::any_of(set_.ranks.begin(), set_.ranks.end(),
                       [](const RankDigest& digest) { return digest.timing.record_cost_ns > 0; });
  }

  // The cost as recorded less what the recording makes of it. A step is as long as the slower of host and device; with
  // a host that the recording does not slow the delay costs so much less.
  TimeBand undisturbed_cost(const Straggler& straggler, const RankProfile& own,
                            const std::vector<const RankProfile*>& peers) const {
    const double captured = straggler.captured_cost_ns;
    TimeBand band{captured, captured / kBand, captured * kBand};
    // The recording does not slow a device that is always busy.
    if (straggler.side == LateSide::device) return band;
    // Slower in everything and in nothing by itself: the recorder does that too, as far as its cost reaches.
    if (straggler.causes.empty() && recording_explains(straggler.ranks.front(), own, peers)) return {};
    double caused = 0;
    for (const LateCause& cause : straggler.causes) caused += cause.excess_ns();
    const double device = common_device_ns();
    const auto longer = [&](double slowdown) {
      const double host = common_host_ns(slowdown);
      return std::max(host + caused, device) - std::max(host, device);
    };
    const double often = static_cast<double>(straggler.steps_late) / static_cast<double>(straggler.steps);
    const auto cost = [&](double slowdown) {
      const double less = recording_costs() ? often * std::max(0.0, longer(1) - longer(slowdown)) : 0;
      return std::max(0.0, captured - less);
    };
    band.expected_ns = cost(kSlowdown);
    band.low_ns = std::max(kExcessLow * cost(kMostSlowdown), band.expected_ns / kBand);
    band.high_ns = std::min(kExcessHigh * cost(kLeastSlowdown), band.expected_ns * kBand);
    return band;
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
    return count > 0 && slower <= records / count && records > 0;
  }

  void ask_clocks(Straggler& straggler) const {
    for (std::size_t i = 0; i < timings_.size(); ++i) {
      const CollectiveTiming& timing = timings_[i];
      if (timing.last != straggler.ranks.front() || timing.lateness_ns.empty()) continue;
      if (!timing.last_by_clock) {
        ++straggler.clock_unresolved;
      } else {
        ++(*timing.last_by_clock == timing.last ? straggler.clock_agrees : straggler.clock_disagrees);
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
    if (!out_.stragglers.empty() && out_.stragglers.front().side == LateSide::host && recording_costs()) {
      // Two estimates of one step must agree: the one that its cost was taken from stands.
      const TimeBand& cost = out_.stragglers.front().undisturbed_cost;
      const double without = std::max(common_host_ns(kSlowdown), common_device_ns());
      band.expected_ns = std::max(band.expected_ns, without + cost.expected_ns);
      band.low_ns = std::min(band.low_ns, without + cost.low_ns);
      band.high_ns = std::max(band.high_ns, without + cost.high_ns);
    }
    out_.undisturbed_step = band;
  }

  const RankSet& set_;
  const CollectiveMatching& matching_;
  const std::vector<CollectiveTiming>& timings_;
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
                                  const std::vector<CollectiveTiming>& timings) {
  return Analysis(set, matching, timings).run();
}

}  // namespace accel::fusion
