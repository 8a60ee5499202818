// Steps, step time, breakdown and distortion.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "analysis/distortion.h"
#include "analysis/efficiency/efficiency.h"
#include "analysis/step_history.h"
#include "analysis/step_segmentation.h"
#include "analysis/time_breakdown.h"
#include "report/apportion.h"
#include "report/build_parts.h"

namespace accel::report {
namespace {

constexpr std::size_t kSteps = 1000;
constexpr std::size_t kStepsForP95 = 20;

// Linear interpolation between the two nearest ranks, as numpy.percentile does. `sorted` is not empty.
double percentile(const std::vector<std::int64_t>& sorted, double fraction) {
  const double at = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = at - static_cast<double>(below);
  return static_cast<double>(sorted[below]) + part * static_cast<double>(sorted[above] - sorted[below]);
}

// Steps that stand out, and where the pace changed.
void build_history(Build& build) {
  StepTime& step_time = build.document.step_time;
  build.reasons["step_time.outliers_every"] = "no two outliers, or at no one distance";
  build.reasons["step_time.drift_us_per_step"] = "no drift found, or fewer than 10 complete steps";
  if (!build.results.step_history || !build.results.step_segmentation) return;
  const StepHistory& history = *build.results.step_history;
  const std::vector<accel::Step>& steps = build.results.step_segmentation->steps;
  for (const SlowStep& slow : history.slow)
    step_time.outliers.push_back({steps[slow.step].number, ms_of(slow.duration_ns), ms_of(slow.usual_ns)});
  for (const accel::PaceChange& change : history.changes)
    step_time.change_points.push_back({steps[change.step].number, ms_of(change.before_ns), ms_of(change.after_ns)});
  build.cap(step_time.outliers, kSteps, "step_time.outliers");
  if (history.pattern) step_time.outliers_every = history.pattern->every;
  if (history.drift) step_time.drift_us_per_step = number(history.drift->ns_per_step / 1e3);
}

// The mean window of one device, in picoseconds.
void add_mean(accel::TimeParts& sum, const accel::TimeParts& parts, std::int64_t count) {
  const auto add = [count](std::int64_t& total, std::int64_t ns) { total += rounded_quotient(ns * 1000, count); };
  add(sum.window_ns, parts.window_ns);
  add(sum.compute_ns, parts.compute_ns);
  add(sum.memory_exposed_ns, parts.memory_exposed_ns);
  add(sum.communication_exposed_ns, parts.communication_exposed_ns);
  add(sum.communication_overlapped_ns, parts.communication_overlapped_ns);
  add(sum.idle_ns, parts.idle_ns);
  for (std::size_t i = 0; i < kIdleCauseCount; ++i) add(sum.idle_causes[i], parts.idle_causes[i]);
}

}  // namespace

void fill_spread(StepTime& step_time, std::vector<std::int64_t> durations) {
  step_time.count = durations.size();
  if (durations.empty()) return;
  std::sort(durations.begin(), durations.end());
  step_time.p50_ms = ms_of(percentile(durations, 0.50));
  if (durations.size() >= kStepsForP95) step_time.p95_ms = ms_of(percentile(durations, 0.95));
  double sum = 0;
  for (const std::int64_t duration : durations) sum += static_cast<double>(duration);
  const double mean = sum / static_cast<double>(durations.size());
  step_time.mean_ms = ms_of(mean);
  if (durations.size() < 2 || mean <= 0) return;
  double squares = 0;
  for (const std::int64_t duration : durations)
    squares += (static_cast<double>(duration) - mean) * (static_cast<double>(duration) - mean);
  step_time.cv = number(std::sqrt(squares / static_cast<double>(durations.size() - 1)) / mean);
}

TimeParts parts_entry(const accel::TimeParts& sums, std::int64_t divisor) {
  const std::int64_t window = rounded_quotient(sums.window_ns, divisor);
  const std::array<std::int64_t, 4> parts = {sums.compute_ns, sums.memory_exposed_ns, sums.communication_exposed_ns,
                                             sums.idle_ns};
  const std::vector<std::int64_t> shares = apportion(parts, divisor, window);
  const std::vector<std::int64_t> causes = apportion(sums.idle_causes, divisor, shares[3]);
  TimeParts entry;
  entry.window_ms = ms_of(window);
  entry.compute_ms = ms_of(shares[0]);
  entry.memcpy_ms = ms_of(shares[1]);
  entry.communication_exposed_ms = ms_of(shares[2]);
  entry.communication_overlapped_ms = ms_of(rounded_quotient(sums.communication_overlapped_ns, divisor));
  entry.idle_ms = ms_of(shares[3]);
  std::size_t cause = 0;
  IdleCauses::fields(entry.idle_causes,
                     [&](std::string_view, double& value, std::string_view) { value = ms_of(causes[cause++]); });
  return entry;
}

void DeviceMeans::add(Document& document, const std::optional<int>& rank, std::int64_t device, PacedBy window,
                      const accel::TimeParts& measured, const accel::TimeParts& undisturbed, std::int64_t count) {
  if (count == 0) return;
  document.breakdown.push_back(
      {rank, device, to_string(window), parts_entry(measured, count), parts_entry(undisturbed, count)});
  add_mean(measured_, measured, count);
  add_mean(undisturbed_, undisturbed, count);
  ++devices_;
}

void DeviceMeans::finish(Document& document) const {
  if (devices_ == 0) return;
  document.time_breakdown = parts_entry(measured_, devices_ * 1000);
  document.time_breakdown_undisturbed = parts_entry(undisturbed_, devices_ * 1000);
  const TimeParts& whole = *document.time_breakdown_undisturbed;
  if (whole.window_ms > 0)
    document.utilisation.device_busy = number((whole.window_ms - whole.idle_ms) / whole.window_ms);
}

void build_steps(Build& build) {
  if (!build.results.step_segmentation) return;
  const StepSegmentation& steps = *build.results.step_segmentation;
  const std::int64_t origin = build.store.time_range.start_ns;
  const bool device_paced = steps.paced_by == PacedBy::device;
  std::vector<Step>& list = build.document.steps;
  for (const accel::Step& step : steps.steps) {
    Step entry;
    entry.index = step.number;
    entry.rank = build.store.process.rank;
    entry.start_ns = step.host.start_ns - origin;
    if (!device_paced) entry.duration_ms = ms_of(step.host.length_ns());
    entry.complete = step.complete;
    entry.step_class = to_string(step.step_class);
    list.push_back(std::move(entry));
  }
  if (device_paced) {
    for (const StepSegmentation::Window& window : steps.pace_windows()) {
      list[window.step].start_ns = window.time.start_ns - origin;
      list[window.step].duration_ms = ms_of(window.time.length_ns());
    }
  }
  build.cap(list, kSteps, "steps");
  build.reasons["steps[].duration_ms"] = "the device sets the pace, and no later step tells when this one ended";
  build.reasons["steps[].rank"] = "the input does not state it; --rank sets it";
}

void build_step_time(Build& build) {
  StepTime& step_time = build.document.step_time;
  build.reasons["step_time"] = "the capture holds no complete step";
  build.reasons["step_time.p95_ms"] = "fewer than 20 complete steps";
  build.reasons["step_time.cv"] = "fewer than 2 complete steps";
  build.reasons["step_time.device_period_ms"] = "no two steps in a row with device work";
  if (build.results.step_segmentation) {
    const StepSegmentation& steps = *build.results.step_segmentation;
    step_time.source = to_string(steps.source);
    step_time.paced_by = to_string(steps.paced_by);
    std::vector<std::int64_t> durations;
    for (const StepSegmentation::Window& window : steps.pace_windows()) durations.push_back(window.time.length_ns());
    fill_spread(step_time, std::move(durations));
    if (steps.complete_count > 0) step_time.host_ms = ms_of(steps.host_mean_ns);
    // The pacing device, else the slowest: the one that would set the pace next.
    for (const DeviceSteps& device : steps.devices) {
      if (device.period_mean_ns <= 0) continue;
      const double period = ms_of(device.period_mean_ns);
      if (device.device == steps.pacing_device || !step_time.device_period_ms || period > *step_time.device_period_ms) {
        step_time.device_period_ms = period;
      }
      if (device.device == steps.pacing_device) break;
    }
  }
  if (build.results.distortion && step_time.mean_ms) {
    const accel::Distortion& distortion = *build.results.distortion;
    step_time.undisturbed_ms = number(distortion.undisturbed_step_ns / 1e6);
    step_time.undisturbed_low_ms = number(distortion.undisturbed_low_ns / 1e6);
    step_time.undisturbed_high_ms = number(distortion.undisturbed_high_ns / 1e6);
  }
  build_history(build);
}

// Work per second of the step that MFU is about: the undisturbed one.
void build_throughput(Build& build) {
  build.reasons["throughput"] = "the capture holds no complete step";
  if (!build.results.efficiency) return;
  StepInput input = build.results.efficiency->input;
  const auto state = [](const std::optional<double>& stated, std::optional<double>& value, std::string& basis) {
    if (!stated) return;
    value = stated;
    basis = "as given";
  };
  state(build.options.samples_per_step, input.samples, input.samples_basis);
  state(build.options.tokens_per_step, input.tokens, input.tokens_basis);
  Throughput& throughput = build.document.throughput;
  const Number step_ms = build.document.step_time.undisturbed_ms;
  const auto fill = [&](const std::optional<double>& number_per_step, const std::string& known_by, Number& per_second,
                        Number& per_step, Text& basis, const std::string& key) {
    per_step = number(number_per_step);
    if (per_step) basis = valid_utf8(known_by);
    if (per_step && step_ms && *step_ms > 0) per_second = number(*per_step / *step_ms * 1e3);
    for (const char* rest : {"_s", "_per_step", "_basis"})
      build.reasons["throughput." + key + rest] = valid_utf8(known_by);
    if (per_step) build.reasons["throughput." + key + "_s"] = "the undisturbed step is not known";
  };
  fill(input.samples, input.samples_basis, throughput.samples_s, throughput.samples_per_step, throughput.samples_basis,
       "samples");
  fill(input.tokens, input.tokens_basis, throughput.tokens_s, throughput.tokens_per_step, throughput.tokens_basis,
       "tokens");
}

void build_breakdown(Build& build) {
  build.reasons["time_breakdown"] = "no device activity in a complete step";
  build.reasons["time_breakdown_undisturbed"] = build.reasons["time_breakdown"];
  build.reasons["breakdown[].rank"] = "the input does not state it; --rank sets it";
  build.reasons["utilisation.device_busy"] = build.reasons["time_breakdown"];
  if (!build.results.time_breakdown) return;
  DeviceMeans means;
  for (const DeviceBreakdown& device : build.results.time_breakdown->devices)
    means.add(build.document, build.store.process.rank, device.device, device.window, device.measured,
              device.undisturbed, device.count);
  means.finish(build.document);
}

void build_distortion(Build& build) {
  build.reasons["distortion"] = "the capture does not show what its recording cost";
  build.reasons["distortion.recorder_percent"] = "only this project's own recorder measures its cost";
  const auto measured = build.store.process.options.find("cost_percent");
  if (measured != build.store.process.options.end()) {
    double percent = 0;
    const std::string& text = measured->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
    if (error == std::errc() && end == text.data() + text.size() && percent >= 0)
      build.document.distortion.recorder_percent = number(percent);
  }
  if (!build.results.distortion) return;
  const accel::Distortion& distortion = *build.results.distortion;
  Distortion& entry = build.document.distortion;
  if (!distortion.model.empty()) entry.model = valid_utf8(distortion.model);
  if (distortion.record_cost_ns || distortion.frame_cost_ns) entry.cost_ms = number(distortion.cost_ns_per_step / 1e6);
  const auto kind = [&](const char* name, double ns) {
    if (const Number ms = number(ns / 1e6)) entry.by_kind[name] = *ms;
  };
  if (distortion.record_cost_ns) kind("records", *distortion.record_cost_ns * distortion.records_per_step);
  if (distortion.call_cost_ns) kind("calls", *distortion.call_cost_ns * distortion.calls_per_step);
  if (distortion.frame_cost_ns) kind("frames", *distortion.frame_cost_ns * distortion.frames_per_step);
  if (distortion.overhead_rows_ns_per_step > 0) kind("overhead_rows", distortion.overhead_rows_ns_per_step);
}

}  // namespace accel::report
