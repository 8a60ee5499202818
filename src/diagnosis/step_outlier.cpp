// A minority of steps is far slower than the rest.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/host_activity.h"
#include "analysis/step_history.h"
#include "analysis/step_segmentation.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/host_idle.h"
#include "diagnosis/host_work.h"
#include "diagnosis/rule.h"
#include "diagnosis/source_location.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

constexpr Threshold kAlone{"a single slow step counts from", 2, "times the usual step",
                           "one step in a window may be the operating system; twice the usual time is more than that"};
constexpr Threshold kAloneConfidence{"confidence of a single slow step", 0.5, "factor",
                                     "that it comes again is not seen in the window"};

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
    if (std::find(steps.begin(), steps.end(), window.step) != steps.end()) view.windows.push_back(window.time);
  }
  if (view.windows.empty()) return {};
  double total = 0;
  for (const Interval& window : view.windows) total += static_cast<double>(window.length_ns());
  view.measured.window_ns = total / static_cast<double>(view.windows.size());
  return find_host_work(input.store, view, input.results.host_activity->compilation.time);
}

std::string list_of_steps(const StepSegmentation& segmentation, const std::vector<SlowStep>& slow) {
  std::string list;
  for (std::size_t k = 0; k < std::min<std::size_t>(slow.size(), 6); ++k)
    list += fmt::format("{}{}", k == 0 ? "" : ", ", segmentation.steps[slow[k].step].number);
  if (slow.size() > 6) list += ", ...";
  return list;
}

// A program that only runs a model has no training step to call.
std::string as_calls_of_a_model(std::string command) {
  constexpr std::string_view kTraining = "train_step";
  for (std::size_t at = command.find(kTraining); at != std::string::npos; at = command.find(kTraining, at))
    command.replace(at, kTraining.size(), "run_model");
  return command;
}

struct Place {
  std::string words;  // after "while"
  Location location;
  std::string name;
};

Place place_of(const DiagnosisInput& input, const HostWork& work, IdleCause cause) {
  Place place;
  place.words = cause_words(cause);
  if (work.groups.empty() || (cause != IdleCause::host_compute && cause != IdleCause::launch_latency)) return place;
  const HostWorkGroup& group = work.groups.front();
  place.name = input.store.text(group.name);
  if (place.name.empty()) {
    place.words = "nothing is recorded: host time outside every op";
    return place;
  }
  place.location = locate(input.store, group.example);
  const std::string line =
      place.location.line ? fmt::format(" at {}:{}", place.location.file, *place.location.line) : std::string();
  place.words = fmt::format("the host is in {}{}", short_name(place.name), group.kind == SliceKind::frame ? "" : line);
  return place;
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
  std::size_t largest = 0;
  for (std::size_t c = 1; c < kIdleCauseCount; ++c) {
    if (claim.idle_ns[c] > claim.idle_ns[largest]) largest = c;
  }
  const bool device_works = claim.compute_ns + claim.copy_ns + claim.communication_ns > claim.total_ns() / 2;
  const HostWork work = work_of(input, steps);
  const Place place = place_of(input, work, static_cast<IdleCause>(largest));
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
  if (device_works) {
    add_evidence(finding, "of it the device works more than in the others",
                 (claim.compute_ns + claim.copy_ns + claim.communication_ns) / 1e6, "ms");
  } else {
    const SliceId example = work.groups.empty() ? SliceId() : work.groups.front().example;
    add_evidence(finding, fmt::format("of it {}", place.words), claim.idle_ns[largest] / 1e6, "ms", example);
  }
  if (!place.location.kind.empty()) finding.where.push_back(place.location);
  finding.where.push_back(locate(input.store, segmentation.steps[slow.front().step].slice));

  finding.claim = claim;
  const std::string how_often =
      pattern ? fmt::format("every {} {}s", history.pattern->every, view.unit) : "now and then";
  finding.action.title = pattern ? fmt::format("Find what the program does {} and take it out of the loop", how_often)
                                 : fmt::format("Find what the slow {}s do that others do not", view.unit);
  finding.action.detail = fmt::format(
      "In the slow {}s {}. Logging, metrics, evaluation, saving and scheduler work usually come at such distances: do "
      "them more rarely, hand them to a thread or a process, or let them read values of the step before.{}",
      view.unit, device_works ? "the device has more to do" : place.words,
      place.name.empty() && !device_works ? " Record with with_stack=True to see the function." : "");
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
  if (!place.name.empty() && !device_works) finding.remedies = {remedy(TransformationKind::no_host, {place.name})};
  set_gain(finding, view, cost_ns, 0.5 * cost_ns);
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
