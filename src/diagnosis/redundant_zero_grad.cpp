// Gradients are filled with zeros instead of being dropped.
#include <fmt/format.h>

#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/host_idle.h"
#include "diagnosis/range_work.h"
#include "diagnosis/rule.h"
#include "diagnosis/source_location.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding> earlier) {
  const StepView& view = input.facts.view;
  const RangeWork work = measure_ranges(input.store, view, "Optimizer.zero_grad#");
  if (work.launches < 1) return {};
  Claim claim;
  claim_host_idle(claim, view, earlier,
                  input.facts.host_idle.inside_ns(work.time) * input.facts.host_idle.undisturbed_share);
  // Fills with a kernel are compute, sets are copies; which of both is in the ledger as one.
  claim.compute_ns = work.device_ns;
  cut_to_left(claim, view, earlier);
  const double cost_ns = claim.total_ns();
  if (view.share(cost_ns) < kFindingShare) return {};

  Finding finding = new_finding(view, "redundant_zero_grad", cost_ns);
  finding.title = fmt::format("zero_grad fills gradients with zeros: {} {} ({})", ms_text(cost_ns), view.a_unit,
                              percent_text(finding.share_of_step));
  add_evidence(finding, fmt::format("device work launched inside zero_grad per {}", view.unit), work.launches, "count",
               work.longest);
  add_evidence(finding, fmt::format("its time on the device per {}", view.unit), work.device_ns / 1e6, "ms");
  add_evidence(
      finding,
      fmt::format("idle device time while zero_grad runs, per {}, as it would be without the recording", view.unit),
      (claim.idle(IdleCause::host_compute) + claim.idle(IdleCause::launch_latency)) / 1e6, "ms");
  finding.where.push_back(locate(input.store, work.longest));
  finding.claim = claim;
  finding.action.title = "Drop the gradients instead of filling them";
  finding.action.detail =
      "With set_to_none=True, the default since PyTorch 2.0, zero_grad launches nothing and the backward pass writes "
      "each "
      "gradient instead of adding to it.";
  finding.action.command = "optimizer.zero_grad(set_to_none=True)\n";
  finding.action.side_effects =
      "parameters that get no gradient in a step have grad None: code that reads .grad must expect it, and their "
      "optimizer state is not updated";
  finding.action.not_when = "gradients must keep their address, for example inside a CUDA graph";
  finding.remedies = {remedy(TransformationKind::no_host, {"Optimizer.zero_grad#"}),
                      scale({"Optimizer.zero_grad#"}, {0.0, 0.0, 0.2})};
  set_gain(finding, view, cost_ns, 0.5 * cost_ns);
  add_doubts(finding, view);
  return {finding};
}

}  // namespace

RuleDescriptor redundant_zero_grad_rule() {
  RuleDescriptor rule;
  rule.id = "redundant_zero_grad";
  rule.title = "zero_grad launches work";
  rule.title_zh = "zero_grad 产生多余的清零";
  rule.meaning =
      "Every gradient is filled with zeros, and the backward pass then adds to them: a launch and a pass over memory "
      "each that nobody needs.";
  rule.meaning_zh = "每个梯度先被清零，反向传播再累加：每个梯度多出一次下发和一遍无用的显存访问。";
  rule.how_we_know =
      "Kernels and sets launched inside the range Optimizer.zero_grad, their device time, and the idle device time "
      "while the range runs.";
  rule.how_we_know_zh =
      "统计 Optimizer.zero_grad 区间内下发的核函数与置零、其设备时间，以及区间运行期间设备的空闲时间。";
  rule.what_to_do = "Call zero_grad(set_to_none=True), or leave the argument away.";
  rule.what_to_do_zh = "调用 zero_grad(set_to_none=True)，或不传该参数。";
  rule.when_wrong = "When gradients must stay at their address (CUDA graphs, some communication buckets).";
  rule.when_wrong_zh = "当梯度必须保持地址不变（CUDA graph、某些通信桶）时，此结论不成立。";
  rule.thresholds = {
      {"finding", kFindingShare, "share of the undisturbed step", "less is within the noise of a step"},
      {"warning", kWarningShare, "share of the undisturbed step", "below it the repair costs more than it brings"}};
  rule.needs = {"step_segmentation", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel
