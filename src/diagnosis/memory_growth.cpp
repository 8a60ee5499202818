// Memory that is in use grows from step to step.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/memory_timeline.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/rule.h"
#include "diagnosis/source_location.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

constexpr Threshold kSteps{"steps", 4, "complete steps", "three changes in a row are the least that make a trend"};
constexpr Threshold kRising{"rising", 0.8, "share of the steps that end higher than the one before",
                            "varying shapes move the level both ways; a leak moves it one way"};
constexpr Threshold kLeast{"least", 1048576, "bytes per step", "less than 1 MiB a step fills no card within a day"};
constexpr Threshold kStepsLeft{"steps_left", 10000, "steps until the card is full",
                               "the order of an epoch: the job would not end it"};
constexpr Threshold kFewStepsLeft{"few_steps_left", 500, "steps until the card is full", "the job ends within minutes"};

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding>) {
  const StepView& view = input.facts.view;
  std::vector<Finding> findings;
  for (const DeviceMemory& device : input.results.memory_timeline->devices) {
    if (!device.growth) continue;
    const MemoryGrowth& growth = *device.growth;
    if (growth.steps < kSteps.value || growth.rising_share < kRising.value) continue;
    const double per_step = static_cast<double>(growth.bytes_per_step);
    if (per_step < kLeast.value) continue;
    Finding finding = new_finding(view, "memory_growth", 0);
    finding.severity = FindingSeverity::warning;
    finding.title =
        fmt::format("Memory in use on device {} grows by {} {}", device.device, bytes_text(per_step), view.a_unit);
    add_evidence(finding, fmt::format("median change of the lowest level per {}", view.unit), per_step, "bytes",
                 growth.slice);
    add_evidence(finding, fmt::format("{}s compared", view.unit), growth.steps, "count");
    add_evidence(finding, "of the changes, upwards", 100 * growth.rising_share, "%");
    if (device.total_bytes > 0) {
      const double room = static_cast<double>(device.total_bytes - device.peak.at.allocated);
      const double left = std::max(0.0, room) / per_step;
      add_evidence(finding, fmt::format("{}s until the card is full at this pace", view.unit), left, "count");
      if (left > kStepsLeft.value) finding.severity = FindingSeverity::info;
      if (left < kFewStepsLeft.value) finding.severity = FindingSeverity::critical;
    }
    if (growth.slice.valid()) {
      add_evidence(finding, "allocated there in these steps and never freed",
                   static_cast<double>(growth.slice_bytes_kept), "bytes", growth.slice);
      finding.where.push_back(locate(input.store, growth.slice));
      finding.where.back().device = device.device;
    }
    finding.action.title = "Find what keeps tensors alive from step to step, and let go of it";
    finding.action.detail =
        "The usual reasons: losses or outputs collected with their graph (append loss.item() or loss.detach() instead "
        "of loss), caches that only grow, hooks and closures that hold tensors.";
    finding.action.command =
        "grep -rnE --include='*.py' 'append\\((loss|out|output|logits)\\)|total_loss *\\+= *loss$' .\n";
    finding.action.side_effects = "loss.item() waits for the device: keep loss.detach() where the value is not needed";
    finding.action.not_when = "the capture holds the first steps of the job, or a cache is meant to fill once";
    add_doubts(finding, view);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

RuleDescriptor memory_growth_rule() {
  RuleDescriptor rule;
  rule.id = "memory_growth";
  rule.title = "Memory in use grows from step to step";
  rule.title_zh = "占用的显存逐步增长";
  rule.meaning =
      "At the same point of every step more memory is in use than in the step before: something keeps tensors alive. "
      "The "
      "job runs until the device is full.";
  rule.meaning_zh = "每一步的最低显存占用都高于前一步：有对象一直持有张量。作业会一直运行到显存耗尽为止。";
  rule.how_we_know =
      "The lowest allocated level of each complete step, from the allocator's own totals: it rises in at least four of "
      "five steps. The op named is the one that allocated most of what nobody freed.";
  rule.how_we_know_zh =
      "依据分配器给出的总量，取每个完整步的最低占用：至少五分之四的步在上升。所指算子是申请后未释放字节最多的一个。";
  rule.what_to_do = "Detach what is collected over steps, bound caches, and look for references in hooks and closures.";
  rule.what_to_do_zh = "跨步收集的张量先 detach，为缓存设上限，检查钩子和闭包中的引用。";
  rule.when_wrong =
      "In the first steps of a job, while optimizer state and caches are made; and when sequences get longer by "
      "design.";
  rule.when_wrong_zh = "作业最初几步优化器状态和缓存尚在建立时，或序列按设计逐渐变长时，该结论不成立。";
  rule.thresholds = {kSteps, kRising, kLeast, kStepsLeft, kFewStepsLeft};
  rule.needs = {"memory_timeline", "step_segmentation", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel
