#include "diagnosis/device_work.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/kernel_table.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/source_location.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

// Large matrix products of vendor libraries reach 55 to 85 % of the published dense peak; short ones (tens of
// microseconds) come down to 45 %.
constexpr ReachedShare kMatmuls{0.45, 0.65, 0.85, false};
// Below this a product is too short to say what the device reaches.
constexpr double kLongEnoughNs = 20'000;
constexpr double kBesideEachOther = 0.85;
constexpr double kRecordedIdle = 0.10;  // with less idle than this in the recording, the device set its pace

}  // namespace

const DeviceEfficiency* verdict_device(const DiagnosisInput& input) {
  return input.results.efficiency ? input.results.efficiency->of_device(input.facts.view.device) : nullptr;
}

double compute_share(const StepView& view, const DeviceEfficiency& device) {
  if (device.kernel_ns <= 0) return 0;
  // A small difference is work from before the window or beside copies; a large one is kernels beside kernels.
  const double share = view.undisturbed.compute_ns / device.kernel_ns;
  return share < kBesideEachOther ? share : 1;
}

double ns_per_step(const DeviceEfficiency& device, const WorkGroup& group) {
  return device.steps > 0 ? group.ns_in_steps / device.steps : 0;
}

ReachedShare reached_by_matmuls(const DeviceEfficiency& device, bool (*counts)(const WorkGroup&)) {
  ReachedShare reached = kMatmuls;
  double at_roof = 0, taken = 0;
  for (const WorkGroup& group : device.groups) {
    if (group.work.kind != WorkKind::matmul || group.roofline.bound != RoofBound::compute) continue;
    if (!group.tensor_core || group.roofline.roof_ns < kLongEnoughNs || !counts(group)) continue;
    at_roof += *group.roofline.roof_share * group.ns_in_steps;
    taken += group.ns_in_steps;
  }
  if (taken > kFindingShare * device.kernel_ns * device.steps && taken > 0) {
    reached.expected = std::clamp(at_roof / taken, reached.worst, reached.best);
    reached.learnt = true;
  }
  return reached;
}

bool device_surely_paces(const StepView& view) {
  return view.paced_by == PacedBy::device || view.measured.idle_ns < kRecordedIdle * view.measured.window_ns;
}

void set_kernel_gain(Finding& finding, const StepView& view, const KernelSaving& saving) {
  finding.claim.compute_ns = std::min(saving.expected_ns, view.undisturbed.compute_ns);
  if (!device_surely_paces(view)) {
    set_gain_bound(finding, view, saving.most_ns);
    return;
  }
  set_gain(finding, view, saving.most_ns, saving.least_ns);
  // What is not known about the step is not known about what remains of it.
  const auto after = [&](double saved_ns) { return std::max(0.0, view.step_ns - saved_ns) / 1e6; };
  finding.gain.step_ms = after(saving.expected_ns);
  finding.gain.step_low_ms = after(saving.most_ns) * view.step_low_ns / view.step_ns;
  finding.gain.step_high_ms = after(saving.least_ns) * view.step_high_ns / view.step_ns;
}

void add_place(Finding& finding, const DiagnosisInput& input, const WorkGroup& group, std::size_t most) {
  const auto add = [&](Location place) {
    const bool known = std::any_of(finding.where.begin(), finding.where.end(), [&](const Location& other) {
      return other.name == place.name && other.kind == place.kind && other.line == place.line;
    });
    if (!known && finding.where.size() < most) finding.where.push_back(std::move(place));
  };
  if (group.example_call.valid()) {
    Location place = locate(input.store, group.example_call);
    place.device = input.facts.view.device;
    add(std::move(place));
  }
  Location kernel;
  kernel.kind = "kernel";
  kernel.name = std::string(input.store.text(group.kernel));
  kernel.device = input.facts.view.device;
  add(std::move(kernel));
}

std::string short_dims(const TraceStore& store, const WorkGroup& group) {
  if (!group.args.valid()) return {};
  std::string text;
  for (const OpInput& input : read_inputs(store, group.args).inputs) {
    if (!input.is_tensor() || input.shape.empty()) continue;
    if (!text.empty()) text += " x ";
    text += fmt::format("[{}]", fmt::join(input.shape, ", "));
    if (text.size() > 90) break;
  }
  return short_name(text, 100);
}

}  // namespace accel
