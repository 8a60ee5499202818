#include "diagnosis/slow_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "analysis/host_activity.h"
#include "analysis/step_graph/step_graph.h"
#include "analysis/step_segmentation.h"
#include "analysis/what_if/predictor.h"
#include "diagnosis/facts.h"
#include "diagnosis/host_work.h"
#include "diagnosis/source_location.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

std::string cause_words(IdleCause cause) {
  switch (cause) {
    case IdleCause::data_loading:
      return "the device waits for data";
    case IdleCause::synchronization:
      return "the host waits for the device";
    case IdleCause::memory_allocation:
      return "device memory is allocated or freed";
    case IdleCause::host_to_device_copy:
      return "the host is busy with a blocking copy";
    case IdleCause::communication:
      return "other ranks are waited for";
    case IdleCause::garbage_collection:
      return "Python collects garbage";
    case IdleCause::profiler_overhead:
      return "the recorder works";
    case IdleCause::host_compute:
    case IdleCause::launch_latency:
      return "the host does something else";
    case IdleCause::stream_dependency:
    case IdleCause::unknown:
      break;
  }
  return "the device is idle for no visible reason";
}

// The host work of the slow steps alone.
HostWork work_of(const DiagnosisInput& input, std::span<const std::uint32_t> steps) {
  StepView view = input.facts.view;
  view.windows.clear();
  for (const auto& window : input.results.step_segmentation->windows_of(view.device)) {
    if (std::binary_search(steps.begin(), steps.end(), window.step)) view.windows.push_back(window.time);
  }
  if (view.windows.empty()) return {};
  double total = 0;
  for (const Interval& window : view.windows) total += static_cast<double>(window.length_ns());
  view.measured.window_ns = total / static_cast<double>(view.windows.size());
  return find_host_work(input.store, input.results, view, input.results.host_activity->compilation.time);
}

}  // namespace

SlowCause cause_of_excess(const DiagnosisInput& input, const Claim& excess, std::span<const std::uint32_t> steps) {
  SlowCause slow;
  const double device_ns = excess.compute_ns + excess.copy_ns + excess.communication_ns;
  if (device_ns > excess.total_ns() / 2) {
    slow.words = "the device has more to do";
    slow.device_works = true;
    slow.ns = device_ns;
    return slow;
  }
  const auto largest = std::max_element(excess.idle_ns.begin(), excess.idle_ns.end());
  const auto cause = static_cast<IdleCause>(largest - excess.idle_ns.begin());
  slow.ns = *largest;
  slow.words = cause_words(cause);
  const HostWork work = work_of(input, steps);
  if (work.groups.empty()) return slow;
  const HostWorkGroup& group = work.groups.front();
  slow.example = group.example;
  if (cause != IdleCause::host_compute && cause != IdleCause::launch_latency) return slow;
  slow.name = input.store.text(group.name);
  if (slow.name.empty()) {
    slow.words = "nothing is recorded: host time outside every op";
    return slow;
  }
  slow.location = locate(input.store, group.example);
  const std::string line =
      slow.location.line ? fmt::format(" at {}:{}", slow.location.file, *slow.location.line) : std::string();
  slow.words = fmt::format("the host is in {}{}", short_name(slow.name), group.kind == SliceKind::frame ? "" : line);
  return slow;
}

void cut_to_other_steps(Claim& claim, const DiagnosisInput& input, std::span<const std::uint32_t> steps) {
  const std::vector<StepGraph::Range>& replayed = input.results.step_graph->steps;
  // Steps that the graph leaves out cannot be taken away from it.
  for (const std::uint32_t step : steps) {
    if (std::none_of(replayed.begin(), replayed.end(), [&](const auto& range) { return range.step == step; })) return;
  }
  const Predictor predictor(input.store, input.results);
  if (!predictor.usable()) return;
  const std::optional<Prediction> prediction = predictor.predict_without_steps(steps);
  const double claimed_ns = claim.total_ns();
  if (!prediction || claimed_ns <= 0) return;
  const double share = std::clamp((predictor.base_ns() - prediction->step_ns) / claimed_ns, 0.0, 1.0);
  claim.compute_ns *= share;
  claim.copy_ns *= share;
  claim.communication_ns *= share;
  for (double& ns : claim.idle_ns) ns *= share;
}

void set_gain_of_other_steps(Finding& finding, const DiagnosisInput& input, std::span<const std::uint32_t> steps) {
  const Predictor predictor(input.store, input.results);
  if (!predictor.usable()) return;
  const std::optional<Prediction> prediction = predictor.predict_without_steps(steps);
  if (!prediction || prediction->step_ns <= 0) return;
  finding.gain.step_ms = prediction->step_ns / 1e6;
  finding.gain.step_low_ms = prediction->low_ns / 1e6;
  finding.gain.step_high_ms = prediction->high_ns / 1e6;
  finding.gain.max_possible_speedup =
      std::max(finding.gain.max_possible_speedup.value_or(1), predictor.base_ns() / prediction->low_ns);
  finding.gain.basis = GainBasis::replay;
}

std::string as_calls_of_a_model(std::string command) {
  constexpr std::string_view kTraining = "train_step";
  for (std::size_t at = command.find(kTraining); at != std::string::npos; at = command.find(kTraining, at))
    command.replace(at, kTraining.size(), "run_model");
  return command;
}

}  // namespace accel
