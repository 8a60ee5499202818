#include "analysis/step_segmentation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/device_timeline.h"
#include "analysis/event_index.h"
#include "analysis/step_classes.h"
#include "analysis/step_marks.h"

namespace accel {
namespace {

// A step with more of its kernel launches missing than this is not complete.
constexpr double kLostShare = 0.01;
// The device sets the pace when it lags the host by more than this at the end of the last step ...
constexpr double kLagNs = 1e6;
// ... and the lag grows by this share of a step with every step, or is longer than a step.
constexpr double kLagGrowthShare = 0.02;
// A device that is idle most of its own period is not what the step waits for.
constexpr double kMostlyIdle = 0.5;

void count_launches(const TraceStore& store, const EventIndex& index, StepSegmentation& segmentation) {
  for (const auto& [first, last] : store.thread_ranges) {
    for (std::uint32_t i = first; i < last; ++i) {
      if (!store.is_call(SliceId(i)) || index.class_of(store, i) != NameClass::kernel_launch) continue;
      if ((index.slice_flags[i] & kCallCaptured) != 0) continue;
      const std::int32_t step = segmentation.step_at(store.slices.start_ns[i]);
      if (step < 0) continue;
      ++segmentation.steps[step].kernel_launches;
      if ((index.slice_flags[i] & kCallHasDevice) == 0) ++segmentation.steps[step].launches_without_device;
    }
  }
}

void judge_completeness(const TraceStore& store, StepSegmentation& segmentation) {
  // Without one device record nothing can be said about single steps: the host figures stand.
  const bool any_device = !store.device_events.empty();
  for (Step& step : segmentation.steps) {
    if (step.host.length_ns() <= 0) step.complete = false;
    if (any_device && step.launches_without_device > kLostShare * step.kernel_launches) step.complete = false;
    segmentation.complete_count += step.complete ? 1 : 0;
  }
}

// A capture without calls (a light window of the recorder) does not say which step replayed a graph, and the host runs
// ahead of the device: the step in which a replay happens to run is not its own. But replays run in the order of their
// launches, the same number in every step. The correlation of the launch tells one replay from the next; the first ones
// may be of steps before the window: so many that none runs before its step began. By correlation; empty where the
// device's events have launches, or the replays are not regular.
using ReplaySteps = std::map<std::int64_t, std::int32_t>;

ReplaySteps steps_of_replays(const TraceStore& store, const TraceStore::DeviceRange& range,
                             const StepSegmentation& segmentation) {
  constexpr double kIrregular = 0.34;  // of a replay a step: the first and last steps of a window may be cut
  constexpr std::size_t kFewestSteps = 3;
  const DeviceEventTable& events = store.device_events;
  std::map<std::int64_t, std::int64_t> start_of;
  for (std::uint32_t i = range.first; i < range.last; ++i) {
    if (events.launch[i].valid()) return {};
    if (events.kind[i] != DeviceEventKind::kernel || (events.flags[i] & kDeviceNoTiming) != 0) continue;
    if (!events.detail[i].valid() || store.kernel_details.graph[events.detail[i].value] == kNotRecorded32) continue;
    if (events.correlation[i] == kNotRecorded) continue;
    const auto [at, fresh] = start_of.try_emplace(events.correlation[i], events.start_ns[i]);
    if (!fresh) at->second = std::min(at->second, events.start_ns[i]);
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> replays;  // start, correlation
  replays.reserve(start_of.size());
  for (const auto& [correlation, start] : start_of) replays.emplace_back(start, correlation);
  std::sort(replays.begin(), replays.end());
  const std::size_t steps = segmentation.steps.size();
  const double rate = steps > 0 ? static_cast<double>(replays.size()) / static_cast<double>(steps) : 0;
  const auto per_step = static_cast<std::size_t>(std::llround(rate));
  if (steps < kFewestSteps || per_step == 0 || std::fabs(rate - static_cast<double>(per_step)) > kIrregular) return {};
  std::size_t before = 0;  // replays of steps before the window
  for (std::size_t step = 0; step < steps; ++step) {
    const std::int64_t begin = segmentation.steps[step].host.start_ns;
    const auto ran = static_cast<std::size_t>(
        std::partition_point(replays.begin(), replays.end(), [&](const auto& replay) { return replay.first < begin; }) -
        replays.begin());
    if (ran > per_step * step) before = std::max(before, ran - per_step * step);
  }
  ReplaySteps found;
  for (std::size_t i = before; i < replays.size() && (i - before) / per_step < steps; ++i)
    found[replays[i].second] = static_cast<std::int32_t>((i - before) / per_step);
  return found;
}

DeviceSteps assign_device(const TraceStore& store, const DeviceTimeline& timeline, const TraceStore::DeviceRange& range,
                          bool by_device_start, StepSegmentation& segmentation) {
  const DeviceEventTable& events = store.device_events;
  DeviceSteps device;
  device.device = range.device;
  device.steps.resize(segmentation.steps.size());
  const ReplaySteps replays = by_device_start ? ReplaySteps() : steps_of_replays(store, range, segmentation);
  for (std::uint32_t i = range.first; i < range.last; ++i) {
    const auto replay = replays.empty() ? replays.end() : replays.find(events.correlation[i]);
    if (!events.launch[i].valid() && !by_device_start && replay == replays.end()) continue;
    const std::int64_t at =
        events.launch[i].valid() ? store.slices.start_ns[events.launch[i].value] : events.start_ns[i];
    const std::int32_t index = replay != replays.end() ? replay->second : segmentation.step_at(at);
    segmentation.step_of_device_event[i] = index;
    if (index < 0) continue;
    DeviceStep& step = device.steps[index];
    ++step.assigned_events;
    if ((events.flags[i] & kDeviceNoTiming) != 0) continue;
    const std::int64_t start = events.start_ns[i];
    const std::int64_t end = timeline.end_ns(store, i);
    if (step.first_start_ns == kNotRecorded) step.first_start_ns = start;
    const std::int64_t covered = step.last_end_ns == kNotRecorded ? start : std::max(start, step.last_end_ns);
    step.assigned_busy_ns += std::max<std::int64_t>(0, end - covered);
    step.last_end_ns = std::max(step.last_end_ns, end);
  }
  return device;
}

void measure_lag(const StepSegmentation& segmentation, DeviceSteps& device) {
  std::int64_t first_lag = 0;
  std::int64_t last_lag = 0;
  double sum = 0;
  std::uint32_t count = 0;
  for (std::size_t k = 0; k < device.steps.size(); ++k) {
    if (!segmentation.steps[k].complete || device.steps[k].last_end_ns == kNotRecorded) continue;
    last_lag = device.steps[k].last_end_ns - segmentation.steps[k].host.end_ns;
    if (count == 0) first_lag = last_lag;
    sum += static_cast<double>(last_lag);
    ++count;
  }
  if (count > 0) device.lag_at_end_mean_ns = sum / count;
  if (count > 1) device.lag_growth_ns = static_cast<double>(last_lag - first_lag) / (count - 1);
  device.lag_at_last_end_ns = last_lag;
}

void measure_periods(const StepSegmentation& segmentation, DeviceSteps& device) {
  std::int64_t previous = kNotRecorded;
  for (const DeviceStep& step : device.steps) {
    if (step.first_start_ns == kNotRecorded) continue;
    if (previous != kNotRecorded) device.period_ns.push_back(step.first_start_ns - previous);
    previous = step.first_start_ns;
  }
  double sum = 0;
  const auto windows = segmentation.device_windows(device.device);
  for (const auto& window : windows) sum += static_cast<double>(window.time.length_ns());
  if (!windows.empty()) device.period_mean_ns = sum / static_cast<double>(windows.size());
}

bool device_sets_pace(const StepSegmentation& segmentation, const DeviceSteps& device,
                      const DeviceTimeline::Device& timeline) {
  const double step = segmentation.host_mean_ns;
  const auto lag = static_cast<double>(device.lag_at_last_end_ns);
  if (device.period_mean_ns <= 0 || lag <= kLagNs) return false;
  if (lag <= step && device.lag_growth_ns <= kLagGrowthShare * step) return false;
  std::int64_t busy = 0;
  std::int64_t total = 0;
  for (const auto& window : segmentation.device_windows(device.device)) {
    busy += timeline.busy.clipped(window.time).total_ns();
    total += window.time.length_ns();
  }
  return static_cast<double>(busy) > kMostlyIdle * static_cast<double>(total);
}

void measure_host(StepSegmentation& segmentation) {
  std::vector<double> durations;
  for (const Step& step : segmentation.steps) {
    if (step.complete) durations.push_back(static_cast<double>(step.host.length_ns()));
  }
  if (durations.empty()) return;
  double sum = 0;
  for (const double d : durations) sum += d;
  segmentation.host_mean_ns = sum / static_cast<double>(durations.size());
  double squares = 0;
  for (const double d : durations) squares += (d - segmentation.host_mean_ns) * (d - segmentation.host_mean_ns);
  if (segmentation.host_mean_ns > 0)
    segmentation.host_cv = std::sqrt(squares / static_cast<double>(durations.size())) / segmentation.host_mean_ns;
  std::sort(durations.begin(), durations.end());
  const std::size_t middle = durations.size() / 2;
  segmentation.host_median_ns =
      durations.size() % 2 == 1 ? durations[middle] : (durations[middle - 1] + durations[middle]) / 2;
}

void choose_pace(const DeviceTimeline& timeline, StepSegmentation& segmentation) {
  if (segmentation.complete_count == 0) return;
  segmentation.paced_by = PacedBy::host;
  segmentation.step_mean_ns = segmentation.host_mean_ns;
  for (std::size_t d = 0; d < segmentation.devices.size(); ++d) {
    const DeviceSteps& device = segmentation.devices[d];
    if (!device_sets_pace(segmentation, device, timeline.devices[d])) continue;
    if (segmentation.paced_by == PacedBy::device && device.period_mean_ns <= segmentation.step_mean_ns) continue;
    segmentation.paced_by = PacedBy::device;
    segmentation.pacing_device = device.device;
    segmentation.step_mean_ns = device.period_mean_ns;
  }
}

// Steps that warm up say nothing about the job: they are kept out of every average.
void set_warm_up_aside(StepSegmentation& segmentation, NoteList& notes) {
  std::uint64_t count = 0;
  for (Step& step : segmentation.steps) {
    if (step.step_class != StepClass::warmup) continue;
    if (step.complete) --segmentation.complete_count;
    step.complete = false;
    ++count;
  }
  if (count > 0) {
    notes.add(NoteCode::warm_up_in_window, count, "step " + std::to_string(segmentation.steps.front().number),
              "first steps that load code, compile, tune or fill the allocator, kept out of averages");
  }
}

void add_notes(const StepSegmentation& segmentation, NoteList& notes) {
  const bool marked = segmentation.source <= StepSource::native_mark;
  if (!marked && !segmentation.steps.empty()) {
    notes.add(NoteCode::steps_not_marked, 1, {}, "steps from: " + std::string(to_string(segmentation.source)));
  }
  std::uint64_t incomplete = 0;
  std::string where;
  for (const Step& step : segmentation.steps) {
    if (step.complete || step.step_class == StepClass::warmup) continue;
    if (incomplete++ == 0) where = "step " + std::to_string(step.number);
  }
  notes.add(NoteCode::step_incomplete, incomplete, where);
}

Result<void> run(const TraceStore& store, AnalysisResults& results, const AnalysisOptions& options) {
  const EventIndex& index = *results.event_index;
  const DeviceTimeline& timeline = *results.device_timeline;
  auto segmentation = std::make_shared<StepSegmentation>();
  StepMarks marks = find_step_marks(store, index, options.step_annotation);
  segmentation->source = marks.source;
  segmentation->steps = std::move(marks.steps);
  segmentation->training = shows_training(store, index);
  segmentation->step_of_device_event.assign(store.device_events.size(), -1);
  count_launches(store, index, *segmentation);
  judge_completeness(store, *segmentation);
  classify_steps(store, index, *segmentation);
  set_warm_up_aside(*segmentation, results.notes);
  measure_host(*segmentation);
  for (const auto& range : store.device_ranges) {
    segmentation->devices.push_back(assign_device(store, timeline, range, marks.by_device_start, *segmentation));
  }
  for (DeviceSteps& device : segmentation->devices) {
    measure_lag(*segmentation, device);
    measure_periods(*segmentation, device);
  }
  choose_pace(timeline, *segmentation);
  add_notes(*segmentation, results.notes);
  results.step_segmentation = std::move(segmentation);
  return {};
}

}  // namespace

std::int32_t StepSegmentation::step_at(std::int64_t time_ns) const {
  const auto after =
      std::partition_point(steps.begin(), steps.end(), [&](const Step& s) { return s.host.start_ns <= time_ns; });
  if (after == steps.begin()) return -1;
  const auto step = after - 1;
  return time_ns < step->host.end_ns ? static_cast<std::int32_t>(step - steps.begin()) : -1;
}

std::vector<StepSegmentation::Window> StepSegmentation::host_windows() const {
  std::vector<Window> windows;
  for (std::uint32_t k = 0; k < steps.size(); ++k) {
    if (steps[k].complete) windows.push_back({k, steps[k].host});
  }
  return windows;
}

std::vector<StepSegmentation::Window> StepSegmentation::device_windows(std::int64_t device) const {
  std::vector<Window> windows;
  const auto at =
      std::find_if(devices.begin(), devices.end(), [&](const DeviceSteps& d) { return d.device == device; });
  if (at == devices.end()) return windows;
  const std::vector<DeviceStep>& own = at->steps;
  for (std::uint32_t k = 0; k + 1 < steps.size(); ++k) {
    if (!steps[k].complete || own[k].first_start_ns == kNotRecorded || own[k + 1].first_start_ns == kNotRecorded)
      continue;
    windows.push_back({k, {own[k].first_start_ns, own[k + 1].first_start_ns}});
  }
  if (!windows.empty()) return windows;
  for (std::uint32_t k = 0; k < steps.size(); ++k) {
    if (steps[k].complete && own[k].first_start_ns != kNotRecorded)
      windows.push_back({k, {own[k].first_start_ns, own[k].last_end_ns}});
  }
  return windows;
}

std::vector<StepSegmentation::Window> StepSegmentation::windows_of(std::int64_t device) const {
  return paced_by == PacedBy::device ? device_windows(device) : host_windows();
}

std::vector<StepSegmentation::Window> StepSegmentation::pace_windows() const {
  if (paced_by == PacedBy::device) return windows_of(pacing_device);
  return windows_of(devices.empty() ? -1 : devices.front().device);
}

std::string_view to_string(StepSource source) {
  switch (source) {
    case StepSource::profiler_step:
      return "profiler_step";
    case StepSource::user_annotation:
      return "user_annotation";
    case StepSource::native_mark:
      return "native_mark";
    case StepSource::optimizer_step:
      return "optimizer_step";
    case StepSource::dataloader_next:
      return "dataloader_next";
    case StepSource::kernel_pattern:
      return "kernel_pattern";
    case StepSource::whole_window:
      return "whole_window";
  }
  return "whole_window";
}

std::string_view to_string(PacedBy paced_by) {
  switch (paced_by) {
    case PacedBy::unknown:
      return "unknown";
    case PacedBy::host:
      return "host";
    case PacedBy::device:
      return "device";
  }
  return "unknown";
}

std::string_view to_string(StepClass step_class) {
  switch (step_class) {
    case StepClass::train:
      return "train";
    case StepClass::evaluation:
      return "evaluation";
    case StepClass::checkpoint:
      return "checkpoint";
    case StepClass::accumulation:
      return "accumulation";
    case StepClass::warmup:
      return "warmup";
  }
  return "train";
}

AnalysisDescriptor describe_step_segmentation() {
  return {
      "step_segmentation",
      "Steps",
      "训练步",
      {"event_index", "device_timeline"},
      "Steps come from the first of: ProfilerStep#N of the host, a range that the user names, the native step mark, "
      "Optimizer.step, DataLoader __next__, a repeating kernel pattern, the whole window. A device event belongs to "
      "the "
      "step in whose [start, end) its launch starts. A step is complete unless it is cut or more than 1 % of its "
      "kernel "
      "launches have no device record, or it warms up (a slow first step with module loads, compilation, allocator "
      "growth or kernels that never come again). The device sets the pace when it lags the host at the end of the last "
      "step by "
      "more "
      "than 1 ms and the lag grows by 2 % of a step or more with every step, or is longer than a step, and the device "
      "is "
      "busy for most of its period; the step is then the device period (first start to first start), else the host "
      "interval.",
      run};
}

}  // namespace accel
