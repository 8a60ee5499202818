// Python runs in one place for long while the device waits.
#include <fmt/format.h>

#include <algorithm>

#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/host_idle.h"
#include "diagnosis/ledger.h"
#include "diagnosis/rule.h"
#include "diagnosis/source_location.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

std::string name_of(const TraceStore& store, const HostWorkGroup& group) {
  const std::string_view name = store.text(group.name);
  if (!name.empty()) return short_name(name);
  return fmt::format("outside every op, after {} and before {}", short_name(store.text(group.before), 40),
                     short_name(store.text(group.after), 40));
}

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding> earlier) {
  const StepView& view = input.facts.view;
  std::vector<const HostWorkGroup*> groups;
  double python_ns = 0, ops_ns = 0;
  for (const HostWorkGroup& group : input.facts.host_work.groups) {
    (group.kind == SliceKind::op ? ops_ns : python_ns) += group.ns_per_step;
    if (group.kind != SliceKind::op) groups.push_back(&group);
  }
  if (groups.empty()) return {};
  // Slow steps may lie in the same places: what they took is not taken again.
  double taken_ns = 0;
  for (const Finding& finding : earlier) {
    if (finding.rule == "step_outlier" || finding.rule == "checkpoint_stall" || finding.rule == "recompilation") {
      taken_ns += finding.claim.idle(IdleCause::host_compute) + finding.claim.idle(IdleCause::launch_latency);
    }
  }
  Claim claim;
  const double cost_ns = claim_host_idle(claim, view, earlier, std::max(0.0, python_ns - taken_ns));
  if (view.share(cost_ns) < kFindingShare) return {};

  Finding finding = new_finding(view, "python_overhead", cost_ns);
  const HostWorkGroup& first = *groups.front();
  const Location place = locate(input.store, first.example);
  const bool named = !input.store.text(first.name).empty();
  finding.title =
      fmt::format("The device waits {} {} for Python {} ({})", ms_text(cost_ns), view.a_unit,
                  named ? fmt::format("in {}", name_of(input.store, first)) : std::string("outside every op"),
                  percent_text(finding.share_of_step));
  add_evidence(finding,
               fmt::format("idle device time while Python runs and nothing else is recorded, per {}", view.unit),
               cost_ns / 1e6, "ms", first.example);
  for (std::size_t k = 0; k < std::min<std::size_t>(groups.size(), 4); ++k) {
    add_evidence(finding,
                 fmt::format("idle device time {}, longest {}", name_of(input.store, *groups[k]),
                             ms_text(static_cast<double>(groups[k]->longest_ns))),
                 groups[k]->ns_per_step / 1e6, "ms", groups[k]->example);
    if (groups[k]->example.valid()) finding.where.push_back(locate(input.store, groups[k]->example));
  }
  finding.claim = claim;
  const std::string line = place.line ? fmt::format(" at {}:{}", place.file, *place.line) : std::string();
  finding.action.title = "Take the Python work out of the step" + (named ? line : std::string());
  finding.action.detail = fmt::format(
      "Nothing is launched while it runs. Write it with array operations, do it once instead of every {}, or hand it "
      "to "
      "a worker process whose result the next {} uses.{}",
      view.unit, view.unit,
      line.empty() ? " The capture does not hold the function: with_stack=True, or the profile below, names it." : "");
  finding.action.command = fmt::format(
      "import cProfile\n"
      "import pstats\n"
      "\n"
      "with cProfile.Profile() as profile:\n"
      "    for _ in range(5):\n"
      "        {}\n"
      "pstats.Stats(profile).sort_stats(\"cumulative\").print_stats(15)\n",
      view.training ? "train_step(next(batches))" : "run_model(next(batches))");
  finding.action.side_effects = "work in another process needs its data copied there";
  finding.action.not_when = "the next launch depends on the result: then make the work itself cheaper";
  std::vector<std::string> names;
  for (const HostWorkGroup* group : groups) {
    if (!input.store.text(group->name).empty()) names.emplace_back(input.store.text(group->name));
  }
  if (names.size() == groups.size()) finding.remedies = {remedy(TransformationKind::no_host, names)};
  set_gain(finding, view, cost_ns, 0.5 * cost_ns);
  add_doubts(finding, view);
  return {finding};
}

}  // namespace

RuleDescriptor python_overhead_rule() {
  RuleDescriptor rule;
  rule.id = "python_overhead";
  rule.title = "Python work in the step";
  rule.title_zh = "步内的 Python 耗时";
  rule.meaning =
      "Python code that launches nothing runs for long in one place of every step, and the device waits for it.";
  rule.meaning_zh = "每步中某处不下发任何任务的 Python 代码运行很久，设备一直等待。";
  rule.how_we_know =
      "Idle device time in stretches of 200 us or more in which no launching thread begins or ends an op or a call, in "
      "places that come again and take a tenth of the step. The place is the innermost Python frame, else the range, "
      "else what was recorded before and after it. Loader, collections, waits and compilation are other rules.";
  rule.how_we_know_zh =
      "设备空闲且 200 "
      "微秒以上没有任何算子或调用开始或结束的时段，出现在反复出现且占步时十分之一以上的位置。位置取最内层 Python "
      "帧，其次为区间，再次为前后记录。";
  rule.what_to_do = "Vectorise it, do it less often, or move it to a worker process.";
  rule.what_to_do_zh = "改为向量化，降低频率，或移到工作进程。";
  rule.when_wrong =
      "When the program waits there for something that the capture does not show: a lock, the network, another "
      "process, "
      "a collection that Python started by itself.";
  rule.when_wrong_zh =
      "当程序实际在等待采集中看不到的东西（锁、网络、其他进程、Python 自动触发的垃圾回收）时，此结论不成立。";
  rule.thresholds = {
      {"finding", kFindingShare, "share of the undisturbed step", "less is within the noise of a step"},
      {"warning", kWarningShare, "share of the undisturbed step", "below it the repair costs more than it brings"},
      {"shortest stretch", static_cast<double>(kSilentStretchNs), "ns",
       "code that launches makes a record more often"}};
  rule.needs = {"step_segmentation", "idle_attribution", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel
