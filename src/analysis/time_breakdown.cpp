#include "analysis/time_breakdown.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/analysis.h"
#include "analysis/device_timeline.h"
#include "analysis/distortion.h"
#include "analysis/idle_attribution.h"
#include "trace/processor.h"

namespace accel {
namespace {

std::size_t at(IdleCause cause) { return static_cast<std::size_t>(cause); }

TimeParts measure(const DeviceTimeline::Device& timeline, const IdleOfDevice& idle,
                  const std::vector<StepSegmentation::Window>& windows) {
  TimeParts parts;
  for (const auto& window : windows) {
    parts.window_ns += window.time.length_ns();
    parts.compute_ns += timeline.compute.clipped(window.time).total_ns();
    parts.memory_exposed_ns += timeline.memory_exposed.clipped(window.time).total_ns();
    parts.communication_exposed_ns += timeline.communication_exposed.clipped(window.time).total_ns();
    parts.communication_overlapped_ns += timeline.communication_overlapped.clipped(window.time).total_ns();
  }
  parts.idle_ns = parts.window_ns - parts.compute_ns - parts.memory_exposed_ns - parts.communication_exposed_ns;
  parts.idle_causes = idle.total;
  return parts;
}

// Takes `amount` from the causes in proportion to `weights`, from none more than it has. Returns what was taken of
// each; whole nanoseconds, the sum is exact as far as the causes reach.
IdleByCause take(const IdleByCause& from, const std::array<double, kIdleCauseCount>& weights, std::int64_t amount) {
  IdleByCause taken{};
  std::int64_t left = amount;
  // A cause that gives all it has leaves the rest to the others; each round settles at least one cause or ends.
  for (std::size_t round = 0; round < kIdleCauseCount && left > 0; ++round) {
    double total = 0;
    for (std::size_t c = 0; c < kIdleCauseCount; ++c) total += taken[c] < from[c] ? weights[c] : 0;
    if (total <= 0) break;
    const std::int64_t share = left;
    for (std::size_t c = 0; c < kIdleCauseCount && left > 0; ++c) {
      if (weights[c] <= 0 || taken[c] >= from[c]) continue;
      const auto wanted = static_cast<std::int64_t>(std::ceil(static_cast<double>(share) * weights[c] / total));
      const std::int64_t given = std::min({wanted, from[c] - taken[c], left});
      taken[c] += given;
      left -= given;
    }
  }
  return taken;
}

// What the recording made of the idle, by the cause it sits in: first by the records that start there, then, as far as
// those do not reach, evenly over what the host did.
IdleByCause recorder_share(const IdleOfDevice& idle, const Distortion& distortion, const IdleByCause& causes,
                           std::int64_t amount) {
  std::array<double, kIdleCauseCount> by_records{};
  for (std::size_t c = 0; c < kIdleCauseCount; ++c) {
    by_records[c] = static_cast<double>(idle.records[c]) * distortion.record_cost_ns.value_or(0) +
                    static_cast<double>(idle.calls[c]) * distortion.call_cost_ns.value_or(0) +
                    static_cast<double>(idle.frames[c]) * distortion.frame_cost_ns.value_or(0);
  }
  by_records[at(IdleCause::profiler_overhead)] = 0;
  IdleByCause taken = take(causes, by_records, amount);
  const std::int64_t reached = std::accumulate(taken.begin(), taken.end(), std::int64_t{0});
  if (reached == amount) return taken;
  IdleByCause rest = causes;
  std::array<double, kIdleCauseCount> evenly{};
  for (std::size_t c = 0; c < kIdleCauseCount; ++c) {
    rest[c] -= taken[c];
    if (c != at(IdleCause::profiler_overhead)) evenly[c] = static_cast<double>(rest[c]);
  }
  const IdleByCause more = take(rest, evenly, amount - reached);
  for (std::size_t c = 0; c < kIdleCauseCount; ++c) taken[c] += more[c];
  return taken;
}

// What a device does is as long without the recording. On a processor only the records of outermost ops, of which each
// is a call of it, lie between its ops; the others are inside.
double share_in_idle(const Distortion& distortion, bool on_processor) {
  if (!on_processor || distortion.records_per_step <= 0) return 1;
  return std::min(1.0, distortion.calls_per_step / distortion.records_per_step);
}

DeviceBreakdown break_down(const StepSegmentation& segmentation, const DeviceTimeline::Device& timeline,
                           const IdleOfDevice& idle, const Distortion& distortion, bool on_processor) {
  const auto windows = segmentation.windows_of(timeline.device);
  DeviceBreakdown breakdown;
  breakdown.device = timeline.device;
  breakdown.window = segmentation.paced_by;
  breakdown.count = static_cast<std::uint32_t>(windows.size());
  breakdown.measured = measure(timeline, idle, windows);
  breakdown.undisturbed = breakdown.measured;
  // The recording lengthens the window by the idle that it makes; what a device did is as long without it.
  const double shorter = distortion.measured_step_ns - distortion.undisturbed_step_ns;
  const auto wanted =
      static_cast<std::int64_t>(std::llround(std::max(0.0, shorter) * static_cast<double>(windows.size())));
  IdleByCause& causes = breakdown.measured.idle_causes;
  const std::int64_t rows = causes[at(IdleCause::profiler_overhead)];
  const std::int64_t available = breakdown.measured.idle_ns - rows;
  const auto of_idle = static_cast<std::int64_t>(share_in_idle(distortion, on_processor) * static_cast<double>(wanted));
  const IdleByCause taken =
      recorder_share(idle, distortion, causes, std::clamp<std::int64_t>(of_idle - rows, 0, available));
  std::int64_t made = distortion.record_cost_ns.has_value() ? rows : 0;
  for (std::size_t c = 0; c < kIdleCauseCount; ++c) {
    causes[c] -= taken[c];
    causes[at(IdleCause::profiler_overhead)] += taken[c];
    made += taken[c];
  }
  TimeParts& undisturbed = breakdown.undisturbed;
  undisturbed.window_ns -= made;
  undisturbed.idle_ns -= made;
  undisturbed.idle_causes = causes;
  undisturbed.idle_causes[at(IdleCause::profiler_overhead)] -= made;
  if (on_processor) {  // the rest was inside ops, which hold the records of those that they call
    const std::int64_t inside = std::clamp<std::int64_t>(wanted - made, 0, undisturbed.compute_ns);
    undisturbed.window_ns -= inside;
    undisturbed.compute_ns -= inside;
  }
  return breakdown;
}

Result<void> run(const TraceStore& store, AnalysisResults& results, const AnalysisOptions&) {
  const bool on_processor = runs_on_processor(store);
  auto breakdown = std::make_shared<TimeBreakdown>();
  for (std::size_t d = 0; d < results.device_timeline->devices.size(); ++d) {
    breakdown->devices.push_back(break_down(*results.step_segmentation, results.device_timeline->devices[d],
                                            results.idle_attribution->devices[d], *results.distortion, on_processor));
  }
  results.time_breakdown = std::move(breakdown);
  return {};
}

}  // namespace

AnalysisDescriptor describe_time_breakdown() {
  return {
      "time_breakdown",
      "Time breakdown",
      "时间分解",
      {"device_timeline", "step_segmentation", "idle_attribution", "distortion"},
      "Compute, exposed copies and sets, exposed communication and idle of each device over the window that sets the "
      "pace; they "
      "add up to it exactly. Undisturbed: the same window less the idle that the recording made, which in the measured "
      "figures is the cause profiler_overhead.",
      run};
}

}  // namespace accel
