// Training stands still while a state is saved.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/host_activity.h"
#include "analysis/step_history.h"
#include "analysis/step_segmentation.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/host_idle.h"
#include "diagnosis/rule.h"
#include "diagnosis/source_location.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

constexpr Threshold kSeenOnce{"confidence of a single checkpoint", 0.6, "factor",
                              "one in the window does not tell how often they come"};

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding> earlier) {
  const StepView& view = input.facts.view;
  const StepSegmentation& segmentation = *input.results.step_segmentation;
  std::vector<std::uint32_t> steps;
  double saved_ns = 0, usual_ns = 0;
  for (const auto& window : segmentation.pace_windows()) {
    if (segmentation.steps[window.step].step_class != StepClass::checkpoint) continue;
    steps.push_back(window.step);
    saved_ns += static_cast<double>(window.time.length_ns());
  }
  if (steps.empty()) return {};
  usual_ns = input.results.step_history->usual_ns;
  Claim claim = excess_of_steps(input.store, input.results, view, steps);
  cut_to_left(claim, view, earlier);
  const double cost_ns = claim.total_ns();
  if (view.share(cost_ns) < kFindingShare) return {};

  Finding finding = new_finding(view, "checkpoint_stall", cost_ns);
  const double count = static_cast<double>(steps.size());
  const double each_ns = std::max(0.0, saved_ns / count - usual_ns);
  const HostPart& part = input.results.host_activity->checkpoint;
  finding.title = fmt::format("Saving a checkpoint holds training up for {}, {} {} in this window ({})",
                              ms_text(each_ns), ms_text(cost_ns), view.a_unit, percent_text(finding.share_of_step));
  if (steps.size() == 1) {
    finding.confidence *= kSeenOnce.value;
    finding.severity = std::min(finding.severity, FindingSeverity::warning);
  }
  add_evidence(finding, fmt::format("time that saving adds per {} of the window", view.unit), cost_ns / 1e6, "ms",
               part.longest);
  add_evidence(finding, "time that one checkpoint adds to its step", each_ns / 1e6, "ms");
  add_evidence(finding,
               fmt::format("{}s that save a state, of {} complete ones", view.unit, segmentation.complete_count), count,
               "count");
  add_evidence(finding, fmt::format("first such {}: number", view.unit),
               static_cast<double>(segmentation.steps[steps.front()].number), "");
  if (part.longest.valid()) {
    finding.where.push_back(locate(input.store, part.longest));
  } else {
    add_evidence(finding,
                 "exposed copies and waits in these steps, per step of the window (no frame or range says that "
                 "it saves: the many tensors copied to the host do)",
                 (claim.copy_ns + claim.idle(IdleCause::synchronization)) / 1e6, "ms");
  }
  finding.claim = claim;
  finding.action.title = "Save in the background, and no more often than a failure costs";
  finding.action.detail = fmt::format(
      "The state has to leave the device, but nobody has to wait until it is on disk. Copied to the host first and "
      "written by a thread, a checkpoint holds training up for its copy alone. One of {} every N {}s costs {} / N of "
      "each.",
      ms_text(each_ns), view.unit, ms_text(each_ns));
  finding.action.command =
      "import torch.distributed.checkpoint as dcp\n"
      "\n"
      "saving = None\n"
      "for step, batch in enumerate(loader):\n"
      "    train_step(batch)\n"
      "    if step % 1000 == 999:\n"
      "        if saving is not None:\n"
      "            saving.result()  # the one before is on disk\n"
      "        state = {\"model\": model.state_dict(), \"optimizer\": optimizer.state_dict()}\n"
      "        saving = dcp.async_save(state, checkpoint_id=f\"checkpoints/{step}\")\n";
  finding.action.side_effects = "a copy of the state in host memory; a crash while it is written loses that checkpoint";
  finding.action.not_when =
      "the host has no memory for a copy of the state, or the next step must not run before it is safe";
  const double device_ns = claim.copy_ns + claim.compute_ns;
  set_gain(finding, view, cost_ns, std::max(0.0, 0.5 * (cost_ns - device_ns)));
  finding.gain.step_ms = (view.step_ns - (cost_ns - device_ns)) / 1e6;
  finding.gain.step_high_ms = std::max(*finding.gain.step_high_ms, *finding.gain.step_ms);
  add_doubts(finding, view);
  return {finding};
}

}  // namespace

RuleDescriptor checkpoint_stall_rule() {
  RuleDescriptor rule;
  rule.id = "checkpoint_stall";
  rule.title = "Training waits for a checkpoint";
  rule.title_zh = "训练因保存检查点而停顿";
  rule.meaning =
      "The loop saves its state itself: it copies every tensor to the host and writes the file before the next step "
      "starts.";
  rule.meaning_zh = "训练循环自己保存状态：先把每个张量拷回主机并写完文件，才开始下一步。";
  rule.how_we_know =
      "Steps with frames or ranges that save (torch.save, safetensors, save_checkpoint), or slow steps that copy far "
      "more tensors and bytes to the host than others. The cost is what these steps have more than the mean of the "
      "others, spread over the window.";
  rule.how_we_know_zh =
      "含有保存类帧或区间（torch.save、safetensors、save_"
      "checkpoint）的步，或向主机拷贝的张量数和字节数远多于其他步的慢步。"
      "代价是这些步相对其余步均值多出的时间，分摊到整个窗口。";
  rule.what_to_do = "Copy the state to the host and write it in the background; save less often.";
  rule.what_to_do_zh = "先拷到主机，再在后台写入；降低保存频率。";
  rule.when_wrong =
      "The share belongs to the recorded window: a job that saves every thousand steps loses a thousandth of one "
      "checkpoint per step. A step that copies many results back for another reason looks alike without frames.";
  rule.when_wrong_zh =
      "占比只针对采集窗口：每千步保存一次的作业，每步只损失一次检查点的千分之一。没有帧时，因其他原因大量回拷的步看起来"
      "相同。";
  rule.thresholds = {
      {"finding", kFindingShare, "share of the undisturbed step", "less is within the noise of a step"},
      {"warning", kWarningShare, "share of the undisturbed step", "below it the repair costs more than it brings"},
      kSeenOnce};
  rule.needs = {"host_activity", "step_segmentation", "step_history", "idle_attribution", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel
