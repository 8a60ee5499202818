// Python collects garbage while the device waits.
#include <fmt/format.h>

#include "analysis/host_activity.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/ledger.h"
#include "diagnosis/rule.h"
#include "diagnosis/source_location.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding> earlier) {
  const StepView& view = input.facts.view;
  const HostPart& part = input.results.host_activity->garbage_collection;
  const double cost_ns =
      std::min(input.facts.host_idle.inside_ns(part.time), idle_left_ns(view, earlier, IdleCause::garbage_collection));
  if (view.share(cost_ns) < kFindingShare || !part.longest.valid()) return {};

  Finding finding = new_finding(view, "garbage_collection", cost_ns);
  const double steps = std::max<double>(1, input.results.host_activity->steps);
  const double count = static_cast<double>(part.count) / steps;
  finding.title = fmt::format("The device waits {} {} while Python collects garbage ({})", ms_text(cost_ns),
                              view.a_unit, percent_text(finding.share_of_step));
  add_evidence(finding, fmt::format("idle device time during collections per {}", view.unit), cost_ns / 1e6, "ms",
               part.longest);
  add_evidence(finding, fmt::format("collections per {}", view.unit), count, "count");
  add_evidence(finding, "longest collection", static_cast<double>(input.store.slices.dur_ns[part.longest.value]) / 1e6,
               "ms", part.longest);
  const Location place = locate(input.store, part.longest);
  finding.where.push_back(place);
  finding.claim.idle(IdleCause::garbage_collection) = cost_ns;

  const std::string line = place.line ? fmt::format(" at {}:{}", place.file, *place.line) : std::string();
  finding.action.title = "Collect garbage rarely, on all ranks at the same step" + line;
  finding.action.detail = fmt::format(
      "A collection walks every container that Python knows; {} times {} that takes {}. Objects that live as long as "
      "the job can be taken out of its sight, and the rest collected between checkpoints.",
      count_text(count), view.a_unit, ms_text(static_cast<double>(part.ns) / steps));
  finding.action.command =
      "import gc\n"
      "\n"
      "gc.collect()\n"
      "gc.freeze()   # what exists now is never looked at again\n"
      "gc.disable()  # and remove gc.collect() from the loop\n"
      "for step, batch in enumerate(loader):\n"
      "    train_step(batch)\n"
      "    if step % 500 == 499:\n"
      "        gc.collect(1)\n";
  if (!view.training) finding.action.command.replace(finding.action.command.find("train_step"), 10, "run_model");
  finding.action.side_effects =
      "reference cycles (a graph kept by an exception, a closure) stay until the next collection: host memory, and "
      "device memory of tensors in them, may grow in between";
  finding.action.not_when = "the collection is there to free device memory that a cycle keeps: break the cycle instead";
  finding.remedies = {remedy(TransformationKind::no_host,
                             {std::string(input.store.text(input.store.slices.name[part.longest.value]))})};
  set_gain(finding, view, cost_ns, 0.8 * cost_ns);
  add_doubts(finding, view);
  return {finding};
}

}  // namespace

RuleDescriptor garbage_collection_rule() {
  RuleDescriptor rule;
  rule.id = "garbage_collection";
  rule.title = "Python collects garbage in the training loop";
  rule.title_zh = "训练循环中的 Python 垃圾回收";
  rule.meaning =
      "Python stops the thread that launches to look for reference cycles. With many objects alive a full collection "
      "takes tens or hundreds of milliseconds, and the device has nothing to run.";
  rule.meaning_zh =
      "Python 会暂停下发线程来查找循环引用。存活对象很多时，一次完整回收要几十到几百毫秒，期间设备无事可做。";
  rule.how_we_know =
      "Idle device time inside calls of gc.collect in the Python frames, or inside a range that bears the name of a "
      "collection. Collections that Python starts by itself have no frame: without such a range they show as Python "
      "time in one place.";
  rule.how_we_know_zh =
      "统计 Python 帧中 gc.collect 调用（或以回收命名的区间）期间设备的空闲时间。Python 自动触发的回收没有帧，"
      "若无区间标记，则表现为某处的 Python 时间。";
  rule.what_to_do =
      "Take explicit collections out of the loop, freeze what lives as long as the job, switch automatic collection "
      "off "
      "and collect at chosen steps, the same on every rank.";
  rule.what_to_do_zh = "把显式回收移出循环，冻结与作业同寿命的对象，关闭自动回收并在选定的步（各 rank 一致）回收。";
  rule.when_wrong =
      "When the collection frees device memory that would otherwise run out: then the cycle that keeps it is the "
      "fault.";
  rule.when_wrong_zh = "当回收是为了释放否则会耗尽的显存时：真正的问题是持有它的循环引用。";
  rule.thresholds = {
      {"finding", kFindingShare, "share of the undisturbed step", "less is within the noise of a step"},
      {"warning", kWarningShare, "share of the undisturbed step", "below it the repair costs more than it brings"}};
  rule.needs = {"host_activity", "step_segmentation", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel
