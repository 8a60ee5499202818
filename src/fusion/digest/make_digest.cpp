#include "fusion/digest/make_digest.h"

#include <algorithm>
#include <limits>
#include <map>

#include "analysis/distortion.h"
#include "analysis/event_index.h"
#include "analysis/step_graph/replay.h"
#include "analysis/step_graph/step_graph.h"
#include "analysis/step_graph/undisturbed.h"
#include "fusion/digest/communication_events.h"
#include "fusion/digest/segments.h"

namespace accel::fusion {
namespace {

void describe_process(const TraceStore& store, const AnalysisResults& results, RankDigest& digest) {
  const ProcessInfo& process = store.process;
  digest.source = store.input.path;
  digest.source_format = store.input.format;
  digest.source_bytes = store.input.bytes;
  digest.source_text_bytes = store.input.text_bytes;
  digest.source_events = store.input.events;
  digest.rank = process.rank;
  digest.rank_guessed = process.rank_guessed;
  digest.world_size = process.world_size;
  digest.host = process.host;
  digest.backend = process.backend;
  digest.versions = process.versions;
  digest.time_range = store.time_range;
  for (const auto& range : store.device_ranges) {
    DigestDevice device;
    device.index = range.device;
    for (const DeviceProperties& properties : process.devices)
      if (properties.index == range.device) device.name = properties.name;
    digest.devices.push_back(std::move(device));
  }
  // Without a base in the file, times of this century count from the epoch all the same (older producers).
  constexpr std::int64_t kYear2000 = 946'684'800'000'000'000;
  digest.absolute_time = process.base_time_ns.has_value() || store.time_range.start_ns > kYear2000;
  const auto add_notes = [&](const NoteList& notes) {
    for (const Note& note : notes.notes()) {
      if (describe(note.code).severity != NoteSeverity::info)
        digest.notes.push_back({std::string(describe(note.code).id), note.count});
    }
  };
  add_notes(store.notes);
  add_notes(results.notes);
}

void add_steps(const StepSegmentation& segmentation, RankDigest& digest) {
  for (const Step& step : segmentation.steps) {
    DigestStep one;
    one.number = step.number;
    one.host = step.host;
    one.complete = step.complete;
    one.step_class = step.step_class;
    digest.steps.push_back(std::move(one));
  }
}

void add_counters(const TraceStore& store, RankDigest& digest) {
  constexpr std::size_t kMostCounters = 256;
  std::map<std::uint32_t, CounterSummary> counters;
  for (std::size_t i = 0; i < store.counters.size(); ++i) {
    const std::uint32_t name = store.counters.name[i].value;
    if (counters.size() >= kMostCounters && !counters.contains(name)) continue;
    CounterSummary& counter = counters[name];
    const double value = store.counters.value[i];
    if (counter.count == 0) counter = {std::string(store.text(store.counters.name[i])), 0, 0, value, value};
    ++counter.count;
    counter.mean += (value - counter.mean) / static_cast<double>(counter.count);
    counter.min = std::min(counter.min, value);
    counter.max = std::max(counter.max, value);
  }
  for (auto& [name, counter] : counters) digest.counters.push_back(std::move(counter));
}

// What the host alone needs for a step: the graph without the recording, with a device that is always done.
double host_step_ns(const StepGraph& graph, const RecordingCost& cost) {
  StepGraph alone = without_recording(graph, cost);
  for (DeviceNode& event : alone.events) {
    event.dur_ns = 0;
    event.latency_ns = 0;
    event.gap_ns = 0;
    event.cross_gap_ns = 0;
  }
  return replay(alone).host_step_ns;
}

void measure_timing(const AnalysisResults& results, RankDigest& digest) {
  const StepSegmentation& segmentation = *results.step_segmentation;
  const Distortion& distortion = *results.distortion;
  RankTiming& timing = digest.timing;
  timing.measured_step_ns = segmentation.step_mean_ns;
  timing.paced_by_device = segmentation.paced_by == PacedBy::device;
  timing.record_cost_ns = distortion.record_cost_ns.value_or(0);
  timing.call_cost_ns = distortion.call_cost_ns.value_or(0);
  timing.frame_cost_ns = distortion.frame_cost_ns.value_or(0);
  if (segmentation.complete_count == 0) return;
  timing.step = {distortion.undisturbed_step_ns, distortion.undisturbed_low_ns, distortion.undisturbed_high_ns};
  double compute = 0;
  double waits = 0;
  std::size_t steps = 0;
  for (const DigestStep& step : digest.steps) {
    if (!step.complete) continue;
    ++steps;
    double kernels = 0;
    for (const KernelShare& kernel : step.work.kernels) kernels += static_cast<double>(kernel.ns);
    compute += std::max(kernels, static_cast<double>(step.work.compute_ns + step.work.memory_ns));
    waits += static_cast<double>(step.host_wait_ns);
  }
  if (steps == 0) return;
  const double device = compute / static_cast<double>(steps);
  if (device > 0) timing.device = {device, device, device};
  const StepGraph& graph = *results.step_graph;
  if (!graph.usable()) return;
  const double wait = waits / static_cast<double>(steps);
  const auto host = [&](const RecordingCost& cost) { return std::max(0.0, host_step_ns(graph, cost) - wait); };
  timing.host = {host(recording_cost(distortion)), host(most_recording_cost(distortion)),
                 host(least_recording_cost(distortion))};
}

}  // namespace

RankDigest make_digest(const TraceStore& store, const AnalysisResults& results) {
  RankDigest digest;
  NameRows names(digest.names);
  describe_process(store, results, digest);
  add_steps(*results.step_segmentation, digest);
  collect_events(store, results, names, digest);
  fill_device_work(store, results, names, digest);
  fill_host_work(store, results, names, digest);
  for (DigestStep& step : digest.steps) step.host_wait_ns = step.work.others_ns;
  for (const DeviceBreakdown& parts : results.time_breakdown->devices) {
    digest.breakdown.push_back(
        {parts.device, parts.count, parts.window == PacedBy::device, parts.measured, parts.undisturbed});
  }
  add_counters(store, digest);
  measure_timing(results, digest);
  return digest;
}

}  // namespace accel::fusion
