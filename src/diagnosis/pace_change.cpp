// The pace of the steps changes for good, or drifts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/step_history.h"
#include "analysis/step_segmentation.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/host_idle.h"
#include "diagnosis/rule.h"
#include "diagnosis/slow_steps.h"
#include "diagnosis/source_location.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

constexpr Threshold kStartUp{"steps that get faster count as start-up below", 0.5, "share of the steps",
                             "a job that becomes faster has warmed up: what is slow passes by itself"};

// A stretch of steps of one pace: [first, last) of the windows that the step time is the mean of.
struct Stretch {
  std::size_t first = 0;
  std::size_t last = 0;
  double level_ns = 0;
};

// The stretches between the changes; a drift is two halves, of which one is slower.
std::vector<Stretch> stretches_of(const StepHistory& history, const std::vector<StepSegmentation::Window>& windows) {
  std::vector<Stretch> list;
  if (!history.changes.empty()) {
    list.push_back({0, 0, history.changes.front().before_ns});
    for (std::size_t k = 0; k < windows.size(); ++k) {
      const auto change = std::find_if(history.changes.begin(), history.changes.end(),
                                       [&](const PaceChange& c) { return c.step == windows[k].step; });
      if (change != history.changes.end() && k > 0) list.push_back({k, k, change->after_ns});
      list.back().last = k + 1;
    }
    return list;
  }
  if (!history.drift) return list;
  const std::size_t middle = windows.size() / 2;
  const double half = history.drift->ns_per_step * static_cast<double>(windows.size()) / 4;
  list.push_back({0, middle, history.usual_ns - half});
  list.push_back({middle, windows.size(), history.usual_ns + half});
  return list;
}

// Steps are compared within their class: here that of the first change, else training.
std::vector<StepSegmentation::Window> compared_windows(const StepSegmentation& segmentation,
                                                       const StepHistory& history) {
  const auto group = [&](std::uint32_t step) {
    const StepClass own = segmentation.steps[step].step_class;
    return own == StepClass::checkpoint ? StepClass::train : own;
  };
  const StepClass wanted = history.changes.empty() ? StepClass::train : group(history.changes.front().step);
  std::vector<StepSegmentation::Window> windows = segmentation.pace_windows();
  std::erase_if(windows, [&](const StepSegmentation::Window& window) { return group(window.step) != wanted; });
  return windows;
}

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding> earlier) {
  const StepView& view = input.facts.view;
  const StepSegmentation& segmentation = *input.results.step_segmentation;
  const StepHistory& history = *input.results.step_history;
  const std::vector<StepSegmentation::Window> windows = compared_windows(segmentation, history);
  const std::vector<Stretch> stretches = stretches_of(history, windows);
  if (stretches.size() < 2) return {};
  const auto fastest = std::min_element(stretches.begin(), stretches.end(),
                                        [](const Stretch& a, const Stretch& b) { return a.level_ns < b.level_ns; });
  std::vector<std::uint32_t> steps;
  steps.reserve(windows.size());
  for (const Stretch& stretch : stretches) {
    if (&stretch == &*fastest) continue;
    for (std::size_t k = stretch.first; k < stretch.last; ++k) steps.push_back(windows[k].step);
  }
  Claim claim = excess_of_steps(input.store, input.results, view, steps);
  cut_to_left(claim, view, earlier);
  const double cost_ns = claim.total_ns();
  if (view.share(cost_ns) < kFindingShare) return {};

  Finding finding = new_finding(view, "pace_change", cost_ns);
  const bool faster = fastest == stretches.end() - 1;
  const bool start_up =
      faster && static_cast<double>(steps.size()) < kStartUp.value * static_cast<double>(windows.size());
  if (start_up) finding.severity = FindingSeverity::info;
  const SlowCause cause = cause_of_excess(input, claim, steps);
  SliceId example;
  if (!history.changes.empty()) {
    // The change that is said first is the largest.
    const PaceChange& change =
        *std::max_element(history.changes.begin(), history.changes.end(), [](const PaceChange& a, const PaceChange& b) {
          return std::fabs(a.after_ns - a.before_ns) < std::fabs(b.after_ns - b.before_ns);
        });
    const accel::Step& step = segmentation.steps[change.step];
    example = step.slice;
    finding.title = fmt::format("From {} {} on {} takes {} instead of {}: {} {} on average ({})", view.unit,
                                step.number, view.a_unit, ms_text(change.after_ns), ms_text(change.before_ns),
                                ms_text(cost_ns), view.a_unit, percent_text(finding.share_of_step));
    for (const PaceChange& each : history.changes) {
      add_evidence(finding,
                   fmt::format("more {} from {} {} on, {} before", view.a_unit, view.unit,
                               segmentation.steps[each.step].number, ms_text(each.before_ns)),
                   (each.after_ns - each.before_ns) / 1e6, "ms", segmentation.steps[each.step].slice);
    }
  } else {
    const double per_step = history.drift->ns_per_step;
    example = segmentation.steps[windows[windows.size() / 2].step].slice;
    finding.title = fmt::format("Every {} takes {} {} than the one before, {} {} on average ({})", view.unit,
                                ms_text(std::fabs(per_step)), per_step > 0 ? "longer" : "less", ms_text(cost_ns),
                                view.a_unit, percent_text(finding.share_of_step));
    add_evidence(finding, fmt::format("median change from one {} to the next", view.unit), per_step / 1e6, "ms");
    add_evidence(finding, fmt::format("over {} {}s, of the median {}", windows.size(), view.unit, view.unit),
                 100 * history.drift->share, "%");
  }
  add_evidence(finding, fmt::format("time that the slower {}s add per {} on average", view.unit, view.unit),
               cost_ns / 1e6, "ms", example);
  add_evidence(finding, "of it " + cause.words, cause.ns / 1e6, "ms", cause.example);
  if (!cause.location.kind.empty()) finding.where.push_back(cause.location);
  if (example.valid()) finding.where.push_back(locate(input.store, example));

  finding.claim = claim;
  finding.action.title = start_up ? fmt::format("Let the job warm up before {}s are measured", view.unit)
                                  : fmt::format("Find what changes between the fast and the slow {}s", view.unit);
  finding.action.detail = fmt::format(
      "In the slower {}s {}. Growing lists and logs, a longer sequence, a cache that fills, fragmented memory, a "
      "hotter "
      "card or a neighbour on the host do this. Record a window before and one after, and compare them.",
      view.unit, cause.words);
  finding.action.command = "accel-profiler compare before.json after.json  # one capture at each pace\n";
  finding.action.side_effects = "none: it only looks";
  finding.action.not_when = "the work is meant to change, such as sequences that grow during training";
  set_gain(finding, view, cost_ns, 0);
  add_doubts(finding, view);
  return {finding};
}

}  // namespace

RuleDescriptor pace_change_rule() {
  RuleDescriptor rule;
  rule.id = "pace_change";
  rule.title = "The pace of the steps changes";
  rule.title_zh = "步时发生持续变化";
  rule.meaning =
      "From one step on all steps take longer, or each takes a little longer than the one before. A mean over the "
      "capture describes neither pace.";
  rule.meaning_zh = "从某一步起所有步都变慢，或每一步都比前一步略慢。整个采集的均值不能代表任何一种节奏。";
  rule.how_we_know =
      "The steps divide at one of them into two stretches whose medians differ by 10 % or more and whose steps lie on "
      "their own side of the middle (t of 6.5 or more, four steps on each side), or the median slope over all "
      "pairs of steps makes 10 % of a step over the capture. What the slower steps have more than the fastest stretch "
      "is taken apart by cause.";
  rule.how_we_know_zh =
      "各步在某一步处分为两段，中位数相差 10% 以上且各自位于中点两侧（t 值不小于 6.5，每侧至少四步），"
      "或所有步对的中位斜率在整个采集中累计达到一步的 10%。较慢的步比最快一段多出的时间按原因拆分。";
  rule.what_to_do =
      "Capture a window at each pace and compare the two. What grows with the number of steps (lists of losses kept "
      "with their graphs, logs, caches) is the usual fault of a drift; clocks, neighbours and another phase of the "
      "data "
      "are those of a sudden change.";
  rule.what_to_do_zh =
      "在两种节奏下各采集一个窗口并比较。持续变慢多因随步数增长的对象（带计算图的损失列表、日志、缓存）；"
      "突变多因频率、邻居进程或数据阶段变化。";
  rule.when_wrong =
      "When the work is meant to change, such as longer sequences later in an epoch, or when the first steps were "
      "still "
      "warming up.";
  rule.when_wrong_zh = "工作量本应变化（如 epoch 后段序列更长），或最初几步仍在预热时。";
  rule.thresholds = {
      {"finding", kFindingShare, "share of the undisturbed step", "less is within the noise of a step"},
      {"warning", kWarningShare, "share of the undisturbed step", "below it the repair costs more than it brings"},
      kStartUp};
  rule.needs = {"step_history", "step_segmentation", "idle_attribution", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel
