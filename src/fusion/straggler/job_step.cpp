#include "fusion/straggler/job_step.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "fusion/straggler/statistics.h"

namespace accel::fusion {
namespace {

// Ranks that nobody holds up take one and the same step. Where another rank's estimate excludes the pacing one's,
// none of them is known better: their mean stands, as in the breakdown, and the band reaches over all.
void unite_ranks(const RankSet& set, TimeBand& band) {
  std::vector<double> expected;
  TimeBand all = band;
  bool agree = true;
  for (const RankDigest& digest : set.ranks) {
    const std::optional<TimeBand>& step = digest.timing.step;
    if (!step || digest.steps.empty()) continue;
    expected.push_back(step->expected_ns);
    agree = agree && step->low_ns <= band.expected_ns && band.expected_ns <= step->high_ns;
    all.low_ns = std::min(all.low_ns, step->low_ns);
    all.high_ns = std::max(all.high_ns, step->high_ns);
  }
  if (agree || expected.empty()) return;
  all.expected_ns = mean_of(expected);
  band = all;
}

}  // namespace

void measure_step(const RankSet& set, const std::vector<RankProfile>& profiles, const std::vector<std::int64_t>& steps,
                  StragglerAnalysis& out) {
  std::vector<double> means;
  for (const RankDigest& digest : set.ranks)
    if (digest.timing.measured_step_ns > 0) means.push_back(digest.timing.measured_step_ns);
  out.measured_step_ns = median_of(std::move(means));
  std::vector<double> exposed;
  for (std::size_t r = 0; r < profiles.size(); ++r) {
    double waits = 0;
    std::size_t count = 0;
    for (const DigestStep& step : set.ranks[r].steps) {
      if (!step.complete || !std::binary_search(steps.begin(), steps.end(), step.number)) continue;
      waits += static_cast<double>(step.host_wait_ns);
      ++count;
    }
    if (count > 0) exposed.push_back(profiles[r].exposed_ns + waits / static_cast<double>(count));
  }
  if (exposed.empty()) return;
  out.exposed_ns = mean_of(exposed);
  out.exposed_waiting_ns = out.exposed_ns - *std::min_element(exposed.begin(), exposed.end());
}

// The rank that waits least sets the pace: its own undisturbed step is the job's.
void estimate_step(const RankSet& set, const std::vector<RankProfile>& profiles, const JobPace& pace,
                   StragglerAnalysis& out) {
  std::size_t pacing = profiles.size();
  for (std::size_t r = 0; r < profiles.size(); ++r) {
    if (profiles[r].steps == 0 || !set.ranks[r].timing.step) continue;
    if (pacing == profiles.size() || profiles[r].exposed_ns < profiles[pacing].exposed_ns) pacing = r;
  }
  if (pacing == profiles.size()) return;
  TimeBand band = *set.ranks[pacing].timing.step;
  if (!out.stragglers.empty() && out.stragglers.front().side == LateSide::host && pace.recording_costs) {
    // Two estimates of one step must agree: the one that its cost was taken from stands.
    const TimeBand& cost = out.stragglers.front().undisturbed_cost;
    const double without = pace.step_ns(pace.slowing);
    band.expected_ns = std::max(band.expected_ns, without + cost.expected_ns);
    band.low_ns = std::min(band.low_ns, without + cost.low_ns);
    band.high_ns = std::max(band.high_ns, without + cost.high_ns);
  }
  if (out.stragglers.empty()) unite_ranks(set, band);
  out.undisturbed_step = band;
}

}  // namespace accel::fusion
