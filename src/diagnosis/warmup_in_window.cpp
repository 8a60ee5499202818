// The recorded window begins while the job still warms up.
#include <fmt/format.h>

#include "analysis/host_activity.h"
#include "analysis/step_segmentation.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/rule.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding>) {
  const StepView& view = input.facts.view;
  double warm_ns = 0, count = 0;
  SliceId first;
  for (const Step& step : input.results.step_segmentation->steps) {
    if (step.step_class != StepClass::warmup) continue;
    warm_ns += static_cast<double>(step.host.length_ns());
    count += 1;
    if (!first.valid()) first = step.slice;
  }
  if (count == 0) return {};
  Finding finding = new_finding(view, "warmup_in_window", 0);
  finding.title = fmt::format("The first {} of the recording warm{} up: {}, kept out of every figure",
                              count == 1 ? std::string(view.unit) : fmt::format("{} {}s", count_text(count), view.unit),
                              count == 1 ? "s" : "", ms_text(warm_ns));
  add_evidence(finding, fmt::format("{}s that load code, compile, tune or fill the allocator", view.unit), count,
               "count", first);
  add_evidence(finding, "their time", warm_ns / 1e6, "ms", first);
  add_evidence(finding, fmt::format("a {} afterwards, as recorded", view.unit), view.measured.window_ns / 1e6, "ms");
  finding.action.title = "Record later: let the job warm up first";
  finding.action.detail =
      "The first steps of a process load kernels, compile, choose algorithms and ask the driver for memory. They say "
      "nothing about the thousands that follow.";
  finding.action.command =
      "from torch.profiler import ProfilerActivity, profile, schedule\n"
      "\n"
      "with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],\n"
      "             schedule=schedule(wait=20, warmup=3, active=6, repeat=1)) as prof:\n"
      "    for step, batch in enumerate(loader):\n"
      "        train_step(batch)\n"
      "        prof.step()\n";
  finding.action.side_effects = "none";
  finding.action.not_when = "the start of the job is what is to be measured";
  return {finding};
}

}  // namespace

RuleDescriptor warmup_in_window_rule() {
  RuleDescriptor rule;
  rule.id = "warmup_in_window";
  rule.title = "Warm-up inside the recording";
  rule.title_zh = "采集窗口包含预热";
  rule.meaning =
      "The first recorded steps load code, compile, tune or fill the allocator. They are kept out of averages, causes "
      "and gains.";
  rule.meaning_zh = "最初采集的几步在加载代码、编译、调优或填充分配器。它们不计入任何均值、原因与收益。";
  rule.how_we_know =
      "First steps that take at least half as long again as the median of the later ones and show what later ones do "
      "not: module loads, compilation, allocations by the driver, kernels that never come again.";
  rule.how_we_know_zh =
      "最初的步比其后的中位数长一半以上，且出现后续步没有的内容：模块加载、编译、驱动分配、不再出现的核函数。";
  rule.what_to_do = "Let the schedule wait some steps and warm up before it records.";
  rule.what_to_do_zh = "让采集计划先等待若干步并预热，再开始记录。";
  rule.when_wrong =
      "When every epoch or every new shape begins like this: then it is a cost of the job, and a later recording will "
      "show it again.";
  rule.when_wrong_zh = "当每个 epoch 或每种新形状都如此开始时：这就是作业本身的开销，之后的采集会再次显示。";
  rule.thresholds = {
      {"slow", 1.5, "times the median of later steps", "loading and tuning take many times a step; less is noise"}};
  rule.needs = {"step_segmentation", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel
