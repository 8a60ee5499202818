#include "diagnosis/finding_parts.h"

#include <algorithm>

#include "diagnosis/wording.h"

namespace accel {
namespace {

constexpr double kConfidence = 0.9;  // of a finding from undoubted data: no rule is sure of what a program means to do

}  // namespace

FindingSeverity severity_of(double share_of_step) {
  if (share_of_step >= kCriticalShare) return FindingSeverity::critical;
  return share_of_step >= kWarningShare ? FindingSeverity::warning : FindingSeverity::info;
}

std::string_view to_string(FindingSeverity severity) {
  switch (severity) {
    case FindingSeverity::info:
      return "info";
    case FindingSeverity::warning:
      return "warning";
    case FindingSeverity::critical:
      return "critical";
  }
  return "info";
}

std::string_view to_string(GainBasis basis) {
  switch (basis) {
    case GainBasis::none:
      return "none";
    case GainBasis::model:
      return "model";
    case GainBasis::replay:
      return "replay";
  }
  return "none";
}

Finding new_finding(const StepView& view, std::string_view rule, double cost_ns) {
  Finding finding;
  finding.id = rule;
  finding.rule = rule;
  finding.cost_ms_per_step = cost_ns / 1e6;
  finding.share_of_step = view.share(cost_ns);
  finding.severity = severity_of(finding.share_of_step);
  finding.confidence = kConfidence;
  return finding;
}

void add_evidence(Finding& finding, std::string text, double value, std::string_view unit, SliceId slice) {
  Evidence evidence{std::move(text), value, std::string(unit), {}};
  if (slice.valid()) evidence.refs.push_back(slice_ref(slice.value));
  finding.evidence.push_back(std::move(evidence));
}

void add_evidence(Finding& finding, std::string text, double value, std::string_view unit, DeviceEventId event) {
  Evidence evidence{std::move(text), value, std::string(unit), {}};
  if (event.valid()) evidence.refs.push_back(device_event_ref(event.value));
  finding.evidence.push_back(std::move(evidence));
}

void set_gain(Finding& finding, const StepView& view, double most_saved_ns, double least_saved_ns) {
  set_gain_bound(finding, view, most_saved_ns);
  finding.gain.step_ms = finding.gain.step_low_ms;
  // The step itself is known within its band; nothing goes below the device's work that remains.
  const double busy_ns = view.undisturbed.window_ns - view.undisturbed.idle_ns;
  const double remaining_ns =
      busy_ns - finding.claim.compute_ns - finding.claim.copy_ns - finding.claim.communication_ns;
  const double lowest_ns = std::max(remaining_ns, view.step_low_ns - most_saved_ns);
  finding.gain.step_low_ms = std::clamp(lowest_ns / 1e6, 0.0, *finding.gain.step_ms);
  finding.gain.step_high_ms = std::max(*finding.gain.step_ms, (view.step_high_ns - least_saved_ns) / 1e6);
  finding.gain.basis = GainBasis::model;
}

void set_gain_bound(Finding& finding, const StepView& view, double most_saved_ns) {
  const double left_ns = std::max(0.0, view.step_ns - most_saved_ns);
  finding.gain.step_low_ms = left_ns / 1e6;
  finding.gain.step_high_ms = view.step_ns / 1e6;
  if (left_ns > 0) finding.gain.max_possible_speedup = view.step_ns / left_ns;
  finding.gain.basis = GainBasis::none;
}

void add_doubts(Finding& finding, const StepView& view) {
  finding.confidence *= view.trust();
  for (const Doubt& doubt : view.doubts) add_evidence(finding, "less sure: " + doubt.text, doubt.value, doubt.unit);
}

}  // namespace accel
