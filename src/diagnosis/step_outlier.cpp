// A minority of steps is far slower than the rest.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/step_history.h"
#include "analysis/step_segmentation.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/host_idle.h"
#include "diagnosis/host_work.h"
#include "diagnosis/rule.h"
#include "diagnosis/slow_steps.h"
#include "diagnosis/source_location.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

constexpr Threshold kAlone{"a single slow step counts from", 2, "times the usual step",
                           "one step in a window may be the operating system; twice the usual time is more than that"};
constexpr Threshold kAloneConfidence{"confidence of a single slow step", 0.5, "factor",
                                     "that it comes again is not seen in the window"};

std::string list_of_steps(const StepSegmentation& segmentation, const std::vector<SlowStep>& slow) {
  std::string list;
  for (std::size_t k = 0; k < std::min<std::size_t>(slow.size(), 6); ++k)
    list += fmt::format("{}{}", k == 0 ? "" : ", ", segmentation.steps[slow[k].step].number);
  if (slow.size() > 6) list += ", ...";
  return list;
}

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding> earlier) {
  const StepView& view = input.facts.view;
  const StepSegmentation& segmentation = *input.results.step_segmentation;
  const StepHistory& history = *input.results.step_history;
  std::vector<SlowStep> slow;
  std::vector<std::uint32_t> steps;
  for (const SlowStep& step : history.slow) {
    if (segmentation.steps[step.step].step_class == StepClass::checkpoint) continue;  // checkpoint_stall's
    slow.push_back(step);
    steps.push_back(step.step);
  }
  if (slow.empty()) return {};
  Claim claim = excess_of_steps(input.store, input.results, view, steps);
  cut_to_left(claim, view, earlier);
  cut_to_other_steps(claim, input, steps);
  const double cost_ns = claim.total_ns();
  if (view.share(cost_ns) < kFindingShare) return {};

  double slow_ns = 0, usual_ns = 0;
  for (const SlowStep& step : slow) {
    slow_ns += static_cast<double>(step.duration_ns) / static_cast<double>(slow.size());
    usual_ns += step.usual_ns / static_cast<double>(slow.size());
  }
  Finding finding = new_finding(view, "step_outlier", cost_ns);
  const bool pattern = history.pattern && slow.size() == history.slow.size();
  if (slow.size() == 1) {
    finding.confidence *= kAloneConfidence.value;
    if (slow_ns < kAlone.value * usual_ns) finding.severity = FindingSeverity::info;
  }
  const SlowCause cause = cause_of_excess(input, claim, steps);
  const std::string which =
      pattern            ? fmt::format("Every {} {}",
                            history.pattern->every == 2   ? "2nd"
                                       : history.pattern->every == 3 ? "3rd"
                                                                     : fmt::format("{}th", history.pattern->every),
                                       view.unit)
      : slow.size() == 1 ? fmt::format("One {} of {}", view.unit, history.count)
                         : fmt::format("{} {}s of {}", slow.size(), view.unit, history.count);
  finding.title = fmt::format("{} takes {} instead of {}, {} {} on average ({})", which, ms_text(slow_ns),
                              ms_text(usual_ns), ms_text(cost_ns), view.a_unit, percent_text(finding.share_of_step));
  add_evidence(finding, fmt::format("time that the slow {}s add per {} on average", view.unit, view.unit),
               cost_ns / 1e6, "ms");
  add_evidence(finding, fmt::format("slow {}s of {} ({})", view.unit, history.count, list_of_steps(segmentation, slow)),
               static_cast<double>(slow.size()), "count", segmentation.steps[slow.front().step].slice);
  add_evidence(finding, fmt::format("mean of the slow {}s", view.unit), slow_ns / 1e6, "ms");
  add_evidence(finding, fmt::format("median of the others", view.unit), usual_ns / 1e6, "ms");
  if (pattern) {
    add_evidence(finding, fmt::format("they come every so many {}s", view.unit),
                 static_cast<double>(history.pattern->every), "count");
    if (history.pattern->seen == 2) finding.confidence *= 0.9;  // one distance
  }
  add_evidence(finding, "of it " + cause.words, cause.ns / 1e6, "ms", cause.example);
  if (!cause.location.kind.empty()) finding.where.push_back(cause.location);
  finding.where.push_back(locate(input.store, segmentation.steps[slow.front().step].slice));

  finding.claim = claim;
  const std::string how_often =
      pattern ? fmt::format("every {} {}s", history.pattern->every, view.unit) : "now and then";
  finding.action.title = pattern ? fmt::format("Find what the program does {} and take it out of the loop", how_often)
                                 : fmt::format("Find what the slow {}s do that others do not", view.unit);
  finding.action.detail = fmt::format(
      "In the slow {}s {}. Logging, metrics, evaluation, saving and scheduler work usually come at such distances: do "
      "them more rarely, hand them to a thread or a process, or let them read values of the step before.{}",
      view.unit, cause.words,
      cause.name.empty() && !cause.device_works ? " Record with with_stack=True to see the function." : "");
  finding.action.command = fmt::format(
      "import cProfile\n"
      "import pstats\n"
      "\n"
      "# profile one slow step and read what it spends its time on\n"
      "for step, batch in enumerate(loader):\n"
      "    if step % {} == {}:\n"
      "        with cProfile.Profile() as profile:\n"
      "            train_step(batch)\n"
      "        pstats.Stats(profile).sort_stats(\"cumulative\").print_stats(15)\n"
      "    else:\n"
      "        train_step(batch)\n",
      pattern ? history.pattern->every : std::max<std::int64_t>(2, history.count),
      pattern ? segmentation.steps[slow.front().step].number % history.pattern->every : 0);
  if (!view.training) finding.action.command = as_calls_of_a_model(std::move(finding.action.command));
  finding.action.side_effects = "what is done more rarely is seen later";
  finding.action.not_when = "the slow steps are work that has to be done, such as an evaluation that was asked for";
  if (!cause.name.empty() && !cause.device_works)
    finding.remedies = {remedy(TransformationKind::no_host, {cause.name})};
  set_gain(finding, view, cost_ns, 0.5 * cost_ns);
  // Of a place that has no name nothing can be taken away; without it these steps are like the others.
  if (finding.remedies.empty()) set_gain_of_other_steps(finding, input, steps);
  add_doubts(finding, view);
  return {finding};
}

}  // namespace

RuleDescriptor step_outlier_rule() {
  RuleDescriptor rule;
  rule.id = "step_outlier";
  rule.title = "Some steps are far slower than the others";
  rule.title_zh = "部分步远慢于其他步";
  rule.meaning =
      "A minority of steps takes much longer, often every so many steps. The mean hides them: nothing is wrong with "
      "the "
      "ordinary step, and the job still loses the time.";
  rule.meaning_zh = "少数步（往往每隔固定步数）耗时长得多。均值会掩盖它们：普通步没有问题，但作业仍在损失时间。";
  rule.how_we_know =
      "Steps a quarter above the median of the others and beyond four standard deviations. What they have more than "
      "the "
      "others is taken apart by cause: idle causes, device work, and the host's place where that is recorded. What "
      "other "
      "rules explain (checkpoints, collections, compilation, the loader) is left to them.";
  rule.how_we_know_zh =
      "高出其余步中位数四分之一且超过四倍标准差的步。它们比其他步多出的时间按原因拆分；检查点、垃圾回收、编译、数据加载"
      "等已由其他规则解释的部分不计入。";
  rule.what_to_do =
      "Find what runs at that distance (logging, metrics, evaluation, schedulers) and make it rarer, cheaper or "
      "concurrent.";
  rule.what_to_do_zh = "找出按此间隔运行的内容（日志、指标、评估、调度器），降低频率、减小开销或并行执行。";
  rule.when_wrong = "With one slow step in a short window: it may have been the operating system, once.";
  rule.when_wrong_zh = "短窗口内只有一个慢步时：可能只是操作系统的一次偶然干扰。";
  rule.thresholds = {
      {"finding", kFindingShare, "share of the undisturbed step", "less is within the noise of a step"},
      {"warning", kWarningShare, "share of the undisturbed step", "below it the repair costs more than it brings"},
      kAlone,
      kAloneConfidence};
  rule.needs = {"step_history", "step_segmentation", "idle_attribution", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel
