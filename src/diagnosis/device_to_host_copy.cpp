// Copies from device to host that hold the step up: into pageable memory the host waits for the copy at a low rate, and
// on the kernels' own stream nothing runs beside it.
#include <fmt/format.h>

#include <algorithm>

#include "diagnosis/copy_exposure/largest_copy.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/rule.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

Action copy_action(const StepView& view, const CopyGroup& copies) {
  Action action;
  action.title = "Bring back less, into pinned memory, and read it a step later";
  action.detail = fmt::format(
      "{} {} go to the host at {:.1f} GB/s and no kernel runs meanwhile. What is only looked at now and then (a "
      "metric, a "
      "sample of the predictions) can be reduced on the device first; what is needed whole can be copied on a stream "
      "of its "
      "own into pinned memory while the next step computes.",
      bytes_text(copies.bytes), view.a_unit, copies.gigabytes_per_second());
  action.command =
      "# once, outside the loop\n"
      "copy_stream = torch.cuda.Stream()\n"
      "host = torch.empty(result.shape, dtype=result.dtype, pin_memory=True)\n"
      "copied = torch.cuda.Event()\n"
      "\n"
      "# in the loop, in place of result.cpu()\n"
      "copy_stream.wait_stream(torch.cuda.current_stream())\n"
      "with torch.cuda.stream(copy_stream):\n"
      "    host.copy_(result.detach(), non_blocking=True)\n"
      "    result.record_stream(copy_stream)\n"
      "    copied.record()\n"
      "\n"
      "# a step later, before host is read\n"
      "copied.synchronize()\n";
  action.side_effects =
      "the result is seen a step later, lives that much longer on the device, and the pinned buffer takes host memory";
  action.not_when = "the program decides by the copied values what to launch next";
  return action;
}

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding>) {
  const StepView& view = input.facts.view;
  const CopyGroup& copies = input.facts.copies.to_host;
  const double cost = std::min(copies.exposed_ns, view.undisturbed.memory_exposed_ns);
  const double share = view.share(cost);
  if (share < kFindingShare || copies.count <= 0) return {};

  Finding finding = new_finding(view, "device_to_host_copy", cost);
  finding.title = fmt::format("Copies of {} back to the host hold up the {} for {} ({})", bytes_text(copies.bytes),
                              view.unit, ms_text(cost), percent_text(share));
  add_evidence(finding, fmt::format("copies to the host per {}", view.unit), copies.count, "count");
  add_evidence(finding, fmt::format("bytes to the host per {}", view.unit), copies.bytes, "bytes");
  add_evidence(finding, fmt::format("time of these copies that no kernel hides, per {}", view.unit),
               copies.exposed_ns / 1e6, "ms", copies.largest);
  add_evidence(finding, "rate of the copies to the host", copies.gigabytes_per_second(), "GB/s", copies.largest);
  add_evidence(finding, fmt::format("host time inside the copy calls per {}", view.unit), copies.host_blocked_ns / 1e6,
               "ms");
  add_place_of_largest(finding, input.store, view, copies);
  finding.claim.copy_ns = cost;
  finding.action = copy_action(view, copies);
  finding.remedies = {remedy(TransformationKind::pin_overlap)};
  // A hidden copy costs the kernels a part of the memory bandwidth: half of the gain is the cautious end.
  set_gain(finding, view, cost, cost / 2);
  add_doubts(finding, view);
  return {finding};
}

}  // namespace

RuleDescriptor device_to_host_copy_rule() {
  RuleDescriptor rule;
  rule.id = "device_to_host_copy";
  rule.title = "Copies back to the host hold up the step";
  rule.title_zh = "设备到主机的拷贝拖慢了每一步";
  rule.meaning =
      "Results go from device to host while no kernel runs. Into pageable memory the driver copies through a buffer of "
      "its own, "
      "at a low rate, and the host waits until the copy is done.";
  rule.meaning_zh =
      "结果从设备拷回主机时没有核函数在运行。目标为可分页内存时，驱动经由内部缓冲区低速拷贝，主机一直等到拷贝完成。";
  rule.how_we_know =
      "Time of device-to-host copies minus all kernels. What the device idles after the copy belongs to implicit_sync.";
  rule.how_we_know_zh = "设备到主机拷贝的时间减去所有核函数的时间。拷贝之后设备的空闲计入 implicit_sync。";
  rule.what_to_do =
      "Reduce on the device, copy into pinned memory on a stream of its own, and read the result a step later.";
  rule.what_to_do_zh = "先在设备上归约，在单独的流上拷到锁页内存，并在下一步再读取结果。";
  rule.when_wrong = "When the step needs the values on the host before it can go on.";
  rule.when_wrong_zh = "当这一步必须先在主机上得到这些数值才能继续时，此建议不适用。";
  rule.thresholds = {
      {"finding", kFindingShare, "share of the undisturbed step", "a loss or a metric a step is normal"},
      {"warning", kWarningShare, "share of the undisturbed step", "below it the repair costs more than it brings"}};
  rule.needs = {"step_segmentation", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel
