#include "fusion/straggler/delay_cost.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fusion/straggler/statistics.h"

namespace accel::fusion {
namespace {

// A host that sets the pace runs this much slower while it is recorded: the middle and the ends of what was measured on
// captures with a known truth (docs/design/fusion.md).
constexpr double kSlowing = 1.9;
constexpr double kMostSlowing = 2.5;
constexpr double kLeastSlowing = 1.4;
// The estimate of this very recording replaces the middle where it is as sure as this: its ends within this factor.
constexpr double kSure = 1.3;
// What a late host costs is known to about a factor of 1.4 both ways at best; a late device, which the recording hardly
// slows, to 1.3: captures with a known truth are within 1.16.
const double kHostBand = std::sqrt(2.0);
constexpr double kDeviceBand = 1.3;
constexpr double kExcessLow = 0.9;
constexpr double kExcessHigh = 1.1;
constexpr double kSigmas = 2;

double longest_gap(const RankProfile& profile) {
  double gap = 0;
  for (const auto& [key, share] : profile.host)
    if (std::get<0>(key).empty()) gap = std::max(gap, share.longest_ns);
  return gap;
}

// What each rank's own recording is estimated to have slowed its host by, the median of the ranks. The gap is neither
// recorded nor slowed.
void estimate_slowing(const RankSet& set, const std::vector<RankProfile>& profiles, JobPace& pace) {
  std::vector<double> expected, least, most;
  for (std::size_t r = 0; r < profiles.size(); ++r) {
    const auto& host = set.ranks[r].timing.host;
    const double gap = longest_gap(profiles[r]);
    const double recorded = profiles[r].host_ns - gap;
    if (profiles[r].steps == 0 || !host || recorded <= 0) continue;
    const auto slowed = [&](double undisturbed) {
      return undisturbed - gap > recorded / kMostSlowing / 2 ? std::max(1.0, recorded / (undisturbed - gap))
                                                             : 2 * kMostSlowing;
    };
    expected.push_back(slowed(host->expected_ns));
    least.push_back(slowed(host->high_ns));
    most.push_back(slowed(host->low_ns));
  }
  pace.slowing = kSlowing;
  pace.least_slowing = kLeastSlowing;
  pace.most_slowing = kMostSlowing;
  if (expected.empty()) return;
  const double low = median_of(std::move(least));
  const double high = std::max(low, median_of(std::move(most)));
  const double own = median_of(std::move(expected));
  pace.slowing = high <= kSure * low ? std::clamp(own, low, high) : std::clamp(kSlowing, low, high);
  pace.least_slowing = std::min(pace.slowing, std::max(low, kLeastSlowing));
  pace.most_slowing = std::max(pace.slowing, std::min(high, kMostSlowing));
}

// A host that never waits for its device runs ahead until the queue of launches is full.
double lead_of(const RankSet& set, const std::vector<std::int64_t>& steps) {
  constexpr double kQueue = 1024;          // launches that a stream takes before it blocks
  constexpr std::int64_t kNoWait = 1'000;  // ns
  std::vector<double> waits, calls;
  for (const RankDigest& digest : set.ranks) {
    for (const DigestStep& step : digest.steps) {
      if (!step.complete || !std::binary_search(steps.begin(), steps.end(), step.number)) continue;
      waits.push_back(static_cast<double>(step.work.waits_ns));
      calls.push_back(step.work.calls);
    }
  }
  const double usual = median_of(std::move(calls));
  return usual > 0 && median_of(std::move(waits)) < kNoWait ? kQueue / usual : 0;
}

// With what the steps differ by, which is independent of the rest.
TimeBand widened(TimeBand band, const RecordedDelay& delay) {
  const double error = delay.cost_ns > 0 ? kSigmas * band.expected_ns * delay.error_ns / delay.cost_ns : 0;
  band.low_ns = std::max(0.0, band.expected_ns - std::hypot(band.expected_ns - band.low_ns, error));
  band.high_ns = band.expected_ns + std::hypot(band.high_ns - band.expected_ns, error);
  return band;
}

}  // namespace

double JobPace::step_ns(double slowed_by, double more_host_ns, double rests) const {
  const double host = host_ns / slowed_by + gap_ns;
  const double lead = std::max(0.0, device_ns - host) * std::min(rests, lead_steps);
  return std::max(host + std::max(0.0, more_host_ns - lead), device_ns);
}

JobPace pace_of(const RankSet& set, const std::vector<RankProfile>& profiles, const std::vector<std::int64_t>& steps) {
  JobPace pace;
  std::vector<double> hosts, devices;
  double gap = std::numeric_limits<double>::max();
  double exposed = std::numeric_limits<double>::max();
  for (const RankProfile& profile : profiles) {
    if (profile.steps == 0) continue;
    hosts.push_back(profile.host_ns - longest_gap(profile));
    gap = std::min(gap, longest_gap(profile));
    devices.push_back(profile.device_ns);
    exposed = std::min(exposed, profile.exposed_ns);
  }
  if (!hosts.empty()) {
    pace.host_ns = median_of(std::move(hosts));
    pace.gap_ns = gap;
    pace.device_ns = median_of(std::move(devices)) + exposed;
  }
  pace.recording_costs = std::any_of(set.ranks.begin(), set.ranks.end(),
                                     [](const RankDigest& digest) { return digest.timing.record_cost_ns > 0; });
  if (pace.recording_costs) estimate_slowing(set, profiles, pace);
  pace.lead_steps = lead_of(set, steps);
  return pace;
}

// The cost as recorded less what the recording makes of it. A step is as long as the slower of host and device; with
// a host that the recording does not slow the delay costs so much less.
TimeBand cost_of_late_host(const JobPace& pace, const RecordedDelay& delay) {
  // Steps between two in which it happens, whole ones: delays that come in a row meet no lead.
  const double rests = std::floor((1 - delay.often) / delay.often + 1e-9);
  const auto longer = [&](double slowed_by) {
    return pace.step_ns(slowed_by, delay.caused_ns, rests) - pace.step_ns(slowed_by);
  };
  const auto cost = [&](double slowed_by) {
    const double less = pace.recording_costs ? delay.often * std::max(0.0, longer(1) - longer(slowed_by)) : 0;
    return std::max(0.0, delay.cost_ns - less);
  };
  TimeBand band;
  band.expected_ns = cost(pace.slowing);
  band.low_ns = std::max(kExcessLow * cost(pace.most_slowing), band.expected_ns / kHostBand);
  band.high_ns = std::min(kExcessHigh * cost(pace.least_slowing), band.expected_ns * kHostBand);
  return widened(band, delay);
}

// The recording does not slow a device that is always busy.
TimeBand cost_of_late_device(const RecordedDelay& delay) {
  return widened({delay.cost_ns, delay.cost_ns / kDeviceBand, delay.cost_ns * kDeviceBand}, delay);
}

}  // namespace accel::fusion
