// The recording changed the job that it shows.
#include <fmt/format.h>

#include "analysis/distortion.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/rule.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

constexpr Threshold kMuch{"finding", 1.3, "recorded over undisturbed step",
                          "up to here the recorded figures themselves are a fair picture"};

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding>) {
  const StepView& view = input.facts.view;
  const Distortion& distortion = *input.results.distortion;
  if (!view.distortion_known || view.step_ns <= 0) return {};
  const double ratio = view.measured.window_ns / view.step_ns;
  if (ratio < kMuch.value) return {};
  Finding finding = new_finding(view, "profiler_distortion", 0);
  finding.title = fmt::format("Recorded, {} takes {} instead of about {}: what is said here is about the latter",
                              view.a_unit, ms_text(view.measured.window_ns), ms_text(view.step_ns));
  add_evidence(finding, fmt::format("{} as recorded", view.unit), view.measured.window_ns / 1e6, "ms");
  add_evidence(finding, fmt::format("{} without the recording, estimated", view.unit), view.step_ns / 1e6, "ms");
  add_evidence(finding, fmt::format("ops and ranges recorded per {}", view.unit), distortion.records_per_step, "count");
  add_evidence(finding, fmt::format("calls recorded per {}", view.unit), distortion.calls_per_step, "count");
  add_evidence(finding, fmt::format("Python frames recorded per {}", view.unit), distortion.frames_per_step, "count");
  finding.action.title = "Measure the step without a recording before and after a change";
  finding.action.detail = fmt::format(
      "Every record costs the host time that the job does not spend otherwise. Idle time that the recording made is "
      "taken "
      "out of all figures here, with a band; a stop watch around plain steps is better.{}{}",
      distortion.recorded_before
          ? " This process had been recorded before, which stays in the path of every CUDA call until it ends: the "
            "figures are of this process between recordings, and a fresh one is quicker."
          : "",
      distortion.frames_per_step > 0 ? " Python frames cost most: without with_stack the picture is truer." : "");
  finding.action.command =
      "import time\n"
      "import torch\n"
      "\n"
      "torch.cuda.synchronize()\n"
      "begin = time.perf_counter()\n"
      "for _ in range(50):\n"
      "    train_step(next(batches))\n"
      "torch.cuda.synchronize()\n"
      "print((time.perf_counter() - begin) / 50 * 1e3, \"ms a step\")\n";
  if (!view.training) finding.action.command.replace(finding.action.command.find("train_step"), 10, "run_model");
  finding.action.side_effects = "none";
  finding.action.not_when = "only shares and names matter, which the recording keeps";
  return {finding};
}

}  // namespace

RuleDescriptor profiler_distortion_rule() {
  RuleDescriptor rule;
  rule.id = "profiler_distortion";
  rule.title = "The recording slowed the job down";
  rule.title_zh = "采集本身拖慢了作业";
  rule.meaning =
      "The recorded step is much longer than the step of the job. The host pays for every record, the device does not: "
      "it looks idler than it is.";
  rule.meaning_zh = "采集到的步时远长于作业真实步时。主机为每条记录付出开销而设备不会，设备因此看起来比实际更空闲。";
  rule.how_we_know =
      "The cost per record, measured on this capture's own smallest ops, times the records of a step, never below the "
      "device's work.";
  rule.how_we_know_zh = "用本次采集中最小的算子测得单条记录的开销，乘以每步记录数，且不低于设备的工作时间。";
  rule.what_to_do =
      "Read the undisturbed figures; time plain steps to check; record less (no stacks, no shapes) where the picture "
      "matters.";
  rule.what_to_do_zh = "以无干扰数据为准；用普通步计时核对；需要更真实时减少记录内容（不记录栈与形状）。";
  rule.when_wrong = "When the estimate is off: its band stands beside it.";
  rule.when_wrong_zh = "当估计有偏差时：其区间一并给出。";
  rule.thresholds = {kMuch};
  rule.needs = {"distortion", "step_segmentation", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel
