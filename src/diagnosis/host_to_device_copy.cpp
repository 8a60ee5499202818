// Copies from host to device that hold the step up: pageable ones block the host, pinned ones may run with nothing to
// hide them.
#include <fmt/format.h>

#include <algorithm>

#include "diagnosis/copy_exposure/largest_copy.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/rule.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

// What a pinned copy reaches over the host's link, when this capture holds none to measure. GB/s, by compute
// capability: PCIe 5 from 9.0 on, PCIe 4 from 8.0, PCIe 3 before. Lower figures than the best ones measured, so that no
// gain is promised.
double typical_pinned_rate(const TraceStore& store, std::int64_t device) {
  for (const DeviceProperties& properties : store.process.devices) {
    if (properties.index != device || properties.compute_major == kNotRecorded32) continue;
    return properties.compute_major >= 9 ? 40 : properties.compute_major >= 8 ? 20 : 10;
  }
  return 10;
}

// Links reach up to this many times the lower figure: 55 GB/s were seen where 40 are promised.
constexpr double kBestPinnedShare = 1.35;

struct Cost {
  double pageable_ns = 0;  // exposed copies from pageable memory
  double idle_ns = 0;      // idle device time that the copies' calls caused
  double pinned_ns = 0;    // exposed pinned copies, as far as hiding them would shorten the step
  double total_ns() const { return pageable_ns + idle_ns + pinned_ns; }
};

Cost cost_of(const Facts& facts) {
  const StepView& view = facts.view;
  Cost cost;
  cost.pageable_ns = std::min(facts.copies.pageable_to_device.exposed_ns, view.undisturbed.memory_exposed_ns);
  const double exposed_pinned =
      std::min(facts.copies.pinned_to_device.exposed_ns, view.undisturbed.memory_exposed_ns - cost.pageable_ns);
  cost.idle_ns = view.undisturbed.idle(IdleCause::host_to_device_copy);
  // A pinned copy does not hold the host. Where the host sets the pace, the device would only wait longer if the copy
  // were hidden: it costs what exceeds the idle time that has other causes.
  const double slack = view.undisturbed.idle_ns - cost.idle_ns;
  cost.pinned_ns = std::max(0.0, exposed_pinned - slack);
  return cost;
}

void describe_copy(Finding& finding, const TraceStore& store, const StepView& view, const CopyGroup& group,
                   std::string_view memory) {
  if (group.count <= 0) return;
  add_evidence(finding, fmt::format("copies from {} host memory per {}", memory, view.unit), group.count, "count");
  add_evidence(finding, fmt::format("bytes from {} host memory per {}", memory, view.unit), group.bytes, "bytes");
  add_evidence(finding, fmt::format("time of these copies that no kernel hides, per {}", view.unit),
               group.exposed_ns / 1e6, "ms", group.largest);
  add_evidence(finding, fmt::format("rate of the copies from {} host memory", memory), group.gigabytes_per_second(),
               "GB/s", group.largest);
  add_place_of_largest(finding, store, view, group);
}

Action pin_action(const CopyGroup& copies) {
  Action action;
  action.title = "Copy from pinned memory, without waiting";
  action.detail = fmt::format(
      "{} go from pageable memory at {:.1f} GB/s and the host waits in the call. From pinned memory the same copy runs "
      "at the full rate of the link "
      "and the host goes on.",
      bytes_text(copies.bytes), copies.gigabytes_per_second());
  action.command =
      "loader = DataLoader(dataset, batch_size=batch_size, pin_memory=True)  # or tensor.pin_memory() once, outside "
      "the loop\n"
      "batch = batch.to(\"cuda\", non_blocking=True)\n";
  action.side_effects =
      "pinned memory cannot be swapped out: it takes host memory from everything else. With non_blocking=True the "
      "source must not be "
      "changed before the copy has run";
  action.not_when =
      "the source is made anew each time by code that cannot write into pinned memory: pinning it first costs a copy "
      "on the host";
  return action;
}

Action overlap_action(const StepView& view, const CopyGroup& copies) {
  Action action;
  action.title = "Copy the next batch on a stream of its own while this one computes";
  action.detail = fmt::format(
      "{} {} come from pinned memory already, at {:.1f} GB/s: pinning is done. But no kernel runs beside the copy; on "
      "a stream of its own it can be "
      "made while the device works on the batch before.",
      bytes_text(copies.bytes), view.a_unit, copies.gigabytes_per_second());
  action.command =
      "copy_stream = torch.cuda.Stream()\n"
      "\n"
      "def prefetch(batch):\n"
      "    with torch.cuda.stream(copy_stream):\n"
      "        return batch.to(\"cuda\", non_blocking=True)\n"
      "\n"
      "batches = iter(loader)\n"
      "upcoming = prefetch(next(batches))\n"
      "while upcoming is not None:\n"
      "    torch.cuda.current_stream().wait_stream(copy_stream)\n"
      "    batch = upcoming\n"
      "    batch.record_stream(torch.cuda.current_stream())\n"
      "    following = next(batches, None)\n"
      "    upcoming = prefetch(following) if following is not None else None\n"
      "    work_on(batch)\n";
  action.side_effects =
      "one more batch lives in device memory; the last value of the source must stay unchanged until its copy has run";
  action.not_when = "the copied data depend on the result of the step before, or device memory is full";
  return action;
}

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding>) {
  const StepView& view = input.facts.view;
  const CopyExposure& copies = input.facts.copies;
  const Cost cost = cost_of(input.facts);
  const double share = view.share(cost.total_ns());
  if (share < kFindingShare || copies.pageable_to_device.count + copies.pinned_to_device.count <= 0) return {};
  const bool pageable = cost.pageable_ns + cost.idle_ns >= cost.pinned_ns && copies.pageable_to_device.count > 0;
  const CopyGroup& main = pageable ? copies.pageable_to_device : copies.pinned_to_device;

  Finding finding = new_finding(view, "host_to_device_copy", cost.total_ns());
  finding.title =
      fmt::format("Copies of {} from {} host memory hold up the {} for {} ({})", bytes_text(main.bytes),
                  pageable ? "pageable" : "pinned", view.unit, ms_text(cost.total_ns()), percent_text(share));
  describe_copy(finding, input.store, view, main, pageable ? "pageable" : "pinned");
  const CopyGroup& other = pageable ? copies.pinned_to_device : copies.pageable_to_device;
  if (view.share(other.exposed_ns) >= kFindingShare)
    describe_copy(finding, input.store, view, other, pageable ? "pinned" : "pageable");
  if (cost.idle_ns > 0) {
    add_evidence(finding, fmt::format("idle device time while the host is in the copy calls, per {}", view.unit),
                 cost.idle_ns / 1e6, "ms");
  }
  if (pageable)
    add_evidence(finding, fmt::format("host time inside the copy calls per {}", view.unit), main.host_blocked_ns / 1e6,
                 "ms");

  finding.claim.copy_ns = cost.pageable_ns + cost.pinned_ns;
  finding.claim.idle(IdleCause::host_to_device_copy) = cost.idle_ns;
  if (pageable) {
    finding.action = pin_action(main);
    // At worst the pinned copy still runs alone, only faster.
    const double pinned_rate =
        std::max(copies.best_pinned_gigabytes_per_second, typical_pinned_rate(input.store, view.device));
    const double rate = main.gigabytes_per_second();
    const double faster = rate > 0 ? std::max(0.0, 1 - rate / pinned_rate) : 0;
    set_gain(finding, view, cost.total_ns(), cost.pageable_ns * faster + cost.idle_ns);
    finding.gain.step_ms = (view.step_ns - cost.pageable_ns * faster - cost.idle_ns) / 1e6;
    // The copy stays in its place and becomes faster; to hide it is another change.
    Transformation pin = remedy(TransformationKind::pin_overlap);
    const bool seen = copies.best_pinned_gigabytes_per_second >= pinned_rate;
    const double reached = std::min(1.0, rate / (seen ? pinned_rate : kBestPinnedShare * pinned_rate));
    pin.share = {reached, reached, 1 - faster};
    finding.remedies = {pin};
  } else {
    finding.action = overlap_action(view, main);
    finding.remedies = {remedy(TransformationKind::pin_overlap)};
    // A hidden copy costs the kernels a part of the memory bandwidth: half of the gain is the cautious end.
    set_gain(finding, view, cost.total_ns(), cost.total_ns() / 2);
  }
  add_doubts(finding, view);
  return {finding};
}

}  // namespace

RuleDescriptor host_to_device_copy_rule() {
  RuleDescriptor rule;
  rule.id = "host_to_device_copy";
  rule.title = "Copies to the device hold up the step";
  rule.title_zh = "主机到设备的拷贝拖慢了每一步";
  rule.meaning =
      "Data go from host to device while no kernel runs. From pageable memory the driver copies through a buffer of "
      "its own and the call "
      "blocks the host; from pinned memory the copy is fast, but on the kernels' own stream nothing runs beside it.";
  rule.meaning_zh =
      "数据从主机拷到设备时没有核函数在运行。源为可分页内存时，驱动经由内部缓冲区拷贝，调用会阻塞主机；源为锁页内存时拷"
      "贝很快，但若与核函数在同一条流上，就没有任何计算与之重叠。";
  rule.how_we_know =
      "Time of host-to-device copies minus all kernels, split by the kind of host memory in the record, plus idle "
      "device time while the "
      "host is inside the copy call. Pinned copies cost only what exceeds the idle time that has other causes.";
  rule.how_we_know_zh =
      "主机到设备拷贝的时间减去所有核函数的时间，按记录中的内存种类分开，再加上主机处于拷贝调用内时设备的空闲。锁页内存"
      "的拷贝只计超出其他原因空闲的部分。";
  rule.what_to_do =
      "Pin the source and copy without waiting; if that is done, copy the next batch on a second stream while this one "
      "computes.";
  rule.what_to_do_zh = "把源放入锁页内存并使用非阻塞拷贝；若已如此，就在第二条流上提前拷贝下一个批次。";
  rule.when_wrong =
      "When the copy is data that the program must wait for, such as the result of a computation on the host.";
  rule.when_wrong_zh = "当被拷贝的数据是程序必须等待的结果（例如主机上的计算结果）时，此建议不适用。";
  rule.thresholds = {
      {"finding", kFindingShare, "share of the undisturbed step", "small copies of labels and scalars are normal"},
      {"warning", kWarningShare, "share of the undisturbed step", "below it the repair costs more than it brings"}};
  rule.needs = {"step_segmentation", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel
