// Kernels whose grids leave multiprocessors without work.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/kernel_table.h"
#include "diagnosis/device_work.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/rule.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

constexpr Threshold kEmpty{"little reached", 0.60, "share of multiprocessors with work",
                           "tails of the last wave leave a third empty in good kernels"};
constexpr Threshold kLongEnough{"shortest call", 10'000, "ns",
                                "kernels this short are done before more blocks would help"};
constexpr Threshold kWarning{
    "warning", 0.15, "share of the undisturbed step",
    "grids are the choice of the kernel's author; what can be changed is the size of the work"};

constexpr Threshold kFinding{"finding", 0.05, "share of the undisturbed step",
                             "every job has some small kernels that nobody needs to look at"};
constexpr double kFarFromRoof = 0.10;  // as in low_kernel_efficiency

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding> earlier) {
  const StepView& view = input.facts.view;
  const DeviceEfficiency* device = verdict_device(input);
  if (device == nullptr || device->steps <= 0) return {};
  const double share = compute_share(view, *device);
  std::vector<const WorkGroup*> groups;
  double taken = 0, lost = 0;
  const bool slow_kernels_named = std::any_of(
      earlier.begin(), earlier.end(), [](const Finding& finding) { return finding.rule == "low_kernel_efficiency"; });
  for (const WorkGroup& group : device->groups) {
    if (group.ns_in_steps <= 0 || group.communication || !group.fill) continue;
    if (group.fill->multiprocessor_share >= kEmpty.value || group.ns_per_call() < kLongEnough.value) continue;
    // Said already, with the fill of the device as its evidence.
    if (slow_kernels_named && group.roofline.roof_share && *group.roofline.roof_share < kFarFromRoof) continue;
    const double ns = ns_per_step(*device, group) * share;
    taken += ns;
    lost += ns * (1 - group.fill->multiprocessor_share);
    groups.push_back(&group);
  }
  double left = view.undisturbed.compute_ns;
  for (const Finding& finding : earlier) left -= finding.claim.compute_ns;
  lost = std::min(lost, std::max(0.0, left));
  if (groups.empty() || view.share(lost) < kFinding.value) return {};

  const WorkGroup& largest = *groups.front();
  Finding finding = new_finding(view, "low_occupancy", lost);
  if (finding.share_of_step < kWarning.value) finding.severity = FindingSeverity::info;
  finding.title = fmt::format("Kernels that fill only a part of the device take {} {} ({})", ms_text(taken),
                              view.a_unit, percent_text(view.share(taken)));
  add_evidence(finding,
               fmt::format("kernels with work for less than {} of the multiprocessors, per {}",
                           percent_text(kEmpty.value), view.unit),
               taken / 1e6, "ms", largest.example);
  add_evidence(finding, fmt::format("blocks of the costliest, {}", short_kernel_name(input.store.text(largest.kernel))),
               static_cast<double>(largest.fill->blocks), "count", largest.example);
  add_evidence(finding, "multiprocessors of the device", device->properties->sms, "count");
  add_evidence(finding, "multiprocessors with work while it runs, at most", 100 * largest.fill->multiprocessor_share,
               "%");
  add_evidence(finding, fmt::format("its occupancy, at most (limited by {})", to_string(largest.fill->limit)),
               100 * largest.fill->occupancy, "%");
  for (const WorkGroup* group : groups) add_place(finding, input, *group);
  finding.action.title = "Give these kernels more work at once";
  finding.action.detail =
      "Their grids have fewer blocks than the device has multiprocessors. A larger batch, several small problems in "
      "one batched "
      "op, or another implementation of the op fills the rest.";
  finding.action.command = "model = torch.compile(model)  # generated kernels choose their own grids\n";
  finding.action.side_effects = "a larger batch changes the training recipe and takes memory";
  finding.action.not_when = "other streams fill the device at the same time, or the host sets the pace of the step";
  finding.claim.compute_ns = lost;
  set_gain_bound(finding, view, lost);
  add_doubts(finding, view);
  return {finding};
}

}  // namespace

RuleDescriptor low_occupancy_rule() {
  RuleDescriptor rule;
  rule.id = "low_occupancy";
  rule.title = "Kernels too small for the device";
  rule.title_zh = "核函数占用率过低";
  rule.meaning =
      "Kernels start fewer blocks than the device has multiprocessors, or leave a last wave nearly empty, so that most "
      "of "
      "the device waits for a few blocks.";
  rule.meaning_zh = "核函数的线程块少于设备的多处理器数，或最后一波几乎为空，设备的大部分都在等少数线程块。";
  rule.how_we_know =
      "Grid, block, registers and shared memory of every launch, and the limits of the device, as recorded: how many "
      "blocks are "
      "held at once, how many waves there are, how many multiprocessors have work on average. Time of kernels that "
      "other "
      "findings claim is not counted again.";
  rule.how_we_know_zh =
      "依据记录的网格、线程块、寄存器、共享内存与设备上限，算出同时驻留的线程块数、波数以及平均有工作的多处理器比例。其"
      "他发现已计入的时间不再计算。";
  rule.what_to_do = "Enlarge the batch, batch small problems into one op, or use another implementation.";
  rule.what_to_do_zh = "增大批量，把小问题合并为一个批量算子，或换用其他实现。";
  rule.when_wrong = "When kernels of several streams run beside each other: together they may fill the device.";
  rule.when_wrong_zh = "当多个流的核函数同时运行、合起来已占满设备时。";
  rule.thresholds = {kEmpty, kLongEnough, kWarning, kFinding};
  rule.needs = {"efficiency", "time_breakdown"};
  rule.generic = true;
  rule.run = run;
  return rule;
}

}  // namespace accel
