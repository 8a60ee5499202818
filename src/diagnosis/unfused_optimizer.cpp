// The optimizer updates parameters one by one, or list by list, where one kernel would do.
#include <fmt/format.h>

#include <algorithm>

#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/host_idle.h"
#include "diagnosis/range_work.h"
#include "diagnosis/rule.h"
#include "diagnosis/source_location.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

constexpr Threshold kFusedLaunches{
    "launches of a fused optimizer", 24, "per step",
    "a fused step launches one kernel for every few hundred tensors, a list-wise one on few tensors about twenty"};
// Per-tensor updates read and write each value several times; fused ones once. Half of their device time stays.
constexpr Threshold kDeviceLeft{
    "device time left by fusing", 0.5, "share",
    "a chain of element-wise kernels over the same tensors moves each value at least twice as often"};

struct Kind {
  bool fused = false;
  bool foreach = false;
  double pointwise = 0;  // launches of plain ops, all steps
  double total = 0;
};

Kind kind_of(const TraceStore& store, const RangeWork& work) {
  Kind kind;
  for (const auto& [name, count] : work.ops) {
    const std::string_view text = store.text(name);
    kind.total += static_cast<double>(count);
    if (text.find("_fused_") != std::string_view::npos) {
      kind.fused = true;
    } else if (text.find("_foreach_") != std::string_view::npos) {
      kind.foreach = true;
    } else {
      kind.pointwise += static_cast<double>(count);
    }
  }
  return kind;
}

// "Optimizer.step#AdamW.step" -> "AdamW".
std::string class_of(std::string_view range) {
  const std::size_t hash = range.find('#');
  if (hash == std::string_view::npos) return {};
  const std::string_view rest = range.substr(hash + 1);
  const std::string name(rest.substr(0, rest.find('.')));
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  return plain ? name : std::string();
}

bool has_fused(std::string_view name) {
  return name == "Adam" || name == "AdamW" || name == "SGD" || name == "Adagrad";
}

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding> earlier) {
  const StepView& view = input.facts.view;
  const RangeWork work = measure_ranges(input.store, view, "Optimizer.step#");
  const Kind kind = kind_of(input.store, work);
  if (kind.fused || work.launches <= kFusedLaunches.value) return {};
  const double gone = 1 - kFusedLaunches.value / work.launches;
  Claim claim;
  claim_host_idle(claim, view, earlier,
                  gone * input.facts.host_idle.inside_ns(work.time) * input.facts.host_idle.undisturbed_share);
  claim.compute_ns = (1 - kDeviceLeft.value) * work.device_ns;
  cut_to_left(claim, view, earlier);
  const double cost_ns = claim.total_ns();
  if (view.share(cost_ns) < kFindingShare) return {};

  Finding finding = new_finding(view, "unfused_optimizer", cost_ns);
  const std::string name = class_of(input.store.text(input.store.slices.name[work.longest.value]));
  finding.title =
      fmt::format("The optimizer launches {} kernels {} where a fused one launches a few: {} ({})",
                  count_text(work.launches), view.a_unit, ms_text(cost_ns), percent_text(finding.share_of_step));
  const double idle_ns = claim.idle(IdleCause::host_compute) + claim.idle(IdleCause::launch_latency);
  add_evidence(finding, fmt::format("device work launched inside the optimizer's step per {}", view.unit),
               work.launches, "count", work.longest);
  add_evidence(finding, fmt::format("host time of the optimizer's step per {}, as recorded", view.unit),
               work.host_ns / 1e6, "ms", work.longest);
  add_evidence(finding, fmt::format("idle device time in it per {}, as it would be without the recording", view.unit),
               idle_ns / 1e6, "ms");
  add_evidence(finding, fmt::format("its time on the device per {}", view.unit), work.device_ns / 1e6, "ms");
  if (kind.total > 0)
    add_evidence(finding, "of its launches come from ops on single tensors", 100 * kind.pointwise / kind.total, "%");
  finding.where.push_back(locate(input.store, work.longest));
  finding.claim = claim;
  const bool fused = has_fused(name);
  finding.action.title =
      fused ? fmt::format("Use {}(..., fused=True)", name) : "Use an optimizer that updates all parameters at once";
  finding.action.detail = fmt::format(
      "{} Each parameter costs several launches now; the fused step takes all parameters in a few kernels and reads "
      "and "
      "writes every value once.",
      kind.foreach && kind.pointwise < kind.total / 2
          ? "Tensors are updated in lists, one kernel per operation and list."
          : "Parameters are updated one by one.");
  finding.action.command =
      fused ? fmt::format("optimizer = torch.optim.{}(model.parameters(), lr=lr, fused=True)\n", name)
            : fmt::format(
                  "optimizer = torch.optim.{}(model.parameters(), lr=lr, foreach=True)\n"
                  "# or compile its step, whatever the optimizer:\n"
                  "optimizer_step = torch.compile(optimizer.step)\n",
                  name.empty() ? "AdamW" : name);
  finding.action.side_effects =
      "results differ in the last bits; fused=True needs all parameters on a GPU and floating point; foreach=True "
      "needs "
      "temporary memory of about the size of the parameters";
  finding.action.not_when = "the optimizer is sharded or has hooks per parameter that expect one update at a time";
  if (!work.closure)  // the replay knows whole ranges only
    finding.remedies = {remedy(TransformationKind::no_host, {"Optimizer.step#"}),
                        scale({"Optimizer.step#"}, {kDeviceLeft.value, 0.3, 0.9})};
  set_gain(finding, view, cost_ns, 0.5 * cost_ns);
  add_doubts(finding, view);
  return {finding};
}

}  // namespace

RuleDescriptor unfused_optimizer_rule() {
  RuleDescriptor rule;
  rule.id = "unfused_optimizer";
  rule.title = "The optimizer is not fused";
  rule.title_zh = "优化器未融合";
  rule.meaning =
      "The optimizer runs several small kernels for every parameter. The host needs longer to launch them than the "
      "device to run them, and each reads and writes the same values again.";
  rule.meaning_zh = "优化器对每个参数运行多个小核函数。主机下发它们比设备执行更慢，且同一数据被反复读写。";
  rule.how_we_know =
      "Launches inside the range Optimizer.step, none of a fused op among them; the idle device time while it runs, "
      "less what the recording cost, and half of its device time.";
  rule.how_we_know_zh =
      "统计 Optimizer.step "
      "区间内的下发（其中没有融合算子）、扣除采集开销后该区间内设备的空闲时间，以及其设备时间的一半。";
  rule.what_to_do = "Pass fused=True, else foreach=True, or compile the optimizer's step.";
  rule.what_to_do_zh = "传入 fused=True，否则 foreach=True，或编译优化器的 step。";
  rule.when_wrong = "When the optimizer's own arithmetic, not the launching, takes the time (second-order methods).";
  rule.when_wrong_zh = "当时间花在优化器自身的计算（如二阶方法）而非下发时，此结论不成立。";
  rule.thresholds = {
      {"finding", kFindingShare, "share of the undisturbed step", "less is within the noise of a step"},
      {"warning", kWarningShare, "share of the undisturbed step", "below it the repair costs more than it brings"},
      kFusedLaunches,
      kDeviceLeft};
  rule.needs = {"step_segmentation", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel
