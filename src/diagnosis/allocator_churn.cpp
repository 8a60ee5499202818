// The program asks the driver for memory within the steps, and the device stands still meanwhile.
#include <fmt/format.h>

#include <algorithm>

#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/rule.h"
#include "diagnosis/source_location.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

constexpr Threshold kRecurring{
    "recurring", 0.5, "share of the steps with driver calls",
    "the caching allocator of a warm job makes none; calls in the first steps alone are its growth"};

enum class Origin { emptied_cache, pressure, pinned_host, growth };

Origin origin_of(const AllocatorCalls& calls) {
  if (calls.host_allocations > calls.allocations && calls.frees < 1) return Origin::pinned_host;
  if (calls.frees > 0) return calls.frees_outside_ops * 2 >= calls.frees ? Origin::emptied_cache : Origin::pressure;
  return calls.host_allocations > calls.allocations ? Origin::pinned_host : Origin::growth;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The line of user code whose call emptied the cache, when frames were recorded.
SliceId emptying_frame(const TraceStore& store, SliceId call) {
  for (SliceId id = call; id.valid(); id = store.slices.parent[id.value]) {
    if (store.slices.kind[id.value] == SliceKind::frame &&
        contains(store.text(store.slices.name[id.value]), "empty_cache"))
      return id;
  }
  return {};
}

Action action_for(const DiagnosisInput& input, Origin origin) {
  const AllocatorCalls& calls = input.facts.allocator_calls;
  const StepView& view = input.facts.view;
  Action action;
  switch (origin) {
    case Origin::emptied_cache: {
      const SliceId frame = emptying_frame(input.store, calls.largest);
      const Location place = frame.valid() ? locate(input.store, frame) : Location{};
      action.title = place.line ? fmt::format("Remove torch.cuda.empty_cache() at {}:{}", place.file, *place.line)
                                : std::string("Remove torch.cuda.empty_cache() from the loop");
      action.detail = fmt::format(
          "Each {} gives its cached memory back to the driver ({} frees outside every op, as torch.cuda.empty_cache() "
          "makes them) and asks "
          "for it again ({} allocations). A free also waits until the device is done.",
          view.unit, count_text(calls.frees_outside_ops), count_text(calls.allocations));
      action.command = "grep -rn --include='*.py' 'empty_cache' .\n";
      action.side_effects = "the cached memory stays reserved: other processes on the same device see less free memory";
      action.not_when = "another process on the same device needs that memory between the steps";
      break;
    }
    case Origin::pressure:
      action.title = "Stop the allocator from giving memory back: let its segments grow";
      action.detail = fmt::format(
          "The framework's allocator frees cached blocks within ops and asks the driver for others ({} frees, {} "
          "allocations {}): sizes change from "
          "{} to {}, or device memory is nearly full.",
          count_text(calls.frees), count_text(calls.allocations), view.a_unit, view.unit, view.unit);
      action.command = "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n";
      action.side_effects = "tensors cannot be shared with other processes by CUDA IPC on some versions";
      action.not_when = "the device is really full: then a smaller batch or activation checkpointing is the repair";
      break;
    case Origin::pinned_host:
      action.title = "Allocate pinned memory once, outside the loop";
      action.detail = fmt::format("{} allocations of pinned host memory {} each wait for the driver.",
                                  count_text(calls.host_allocations), view.a_unit);
      action.command =
          "buffer = torch.empty(shape, dtype=dtype, pin_memory=True)  # once\n"
          "buffer.copy_(source)                                       # each time\n";
      action.side_effects = "the buffer must not be written again before its copy to the device has run";
      action.not_when = "the size is different every time; then pad to the largest";
      break;
    case Origin::growth:
      action.title = "Let the allocator grow before measuring, and let its segments grow in place";
      action.detail = fmt::format(
          "{} driver allocations {} and hardly a free: the cache is still growing, or every {} has new sizes.",
          count_text(calls.allocations), view.a_unit, view.unit);
      action.command = "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n";
      action.side_effects = "tensors cannot be shared with other processes by CUDA IPC on some versions";
      action.not_when = "the capture holds the first steps of the job only: record later ones first";
      break;
  }
  return action;
}

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding>) {
  const StepView& view = input.facts.view;
  const AllocatorCalls& calls = input.facts.allocator_calls;
  const double cost_ns = view.undisturbed.idle(IdleCause::memory_allocation);
  const double share = view.share(cost_ns);
  if (share < kFindingShare || calls.groups.empty()) return {};
  const bool comes_again =
      view.host_steps.size() > 1 &&
      static_cast<double>(calls.steps_with_calls) >= kRecurring.value * static_cast<double>(view.host_steps.size());
  // In a single window, memory given back and asked for again is what tells churn from a start.
  const bool recurring = comes_again || (calls.frees >= 1 && calls.frees * 2 >= calls.allocations);

  Finding finding = new_finding(view, "allocator_churn", cost_ns);
  if (!recurring) finding.severity = FindingSeverity::info;
  finding.title = fmt::format("The device waits {} {} while the driver allocates and frees memory ({})",
                              ms_text(cost_ns), view.a_unit, percent_text(share));
  add_evidence(finding, fmt::format("idle device time under the driver's memory calls per {}", view.unit),
               cost_ns / 1e6, "ms", calls.largest);
  add_evidence(finding, fmt::format("host time in these calls per {}", view.unit), calls.host_ns / 1e6, "ms");
  for (const AllocatorCallGroup& group : calls.groups) {
    add_evidence(finding, fmt::format("{} per {}", input.store.text(group.call), view.unit), group.count, "count",
                 group.example);
  }
  add_evidence(finding, fmt::format("{}s with such calls, of {}", view.unit, view.host_steps.size()),
               static_cast<double>(calls.steps_with_calls), "count");
  for (const AllocatorCallGroup& group : calls.groups) {
    Location place = locate(input.store, group.example);
    place.device = view.device;
    finding.where.push_back(place);
    const SliceId op = input.store.enclosing_op(group.example);
    if (op.valid()) finding.where.push_back(locate(input.store, op));
    if (finding.where.size() >= 6) break;
  }
  finding.action = action_for(input, recurring ? origin_of(calls) : Origin::growth);
  finding.claim.idle(IdleCause::memory_allocation) = cost_ns;
  finding.remedies = {remedy(TransformationKind::no_alloc)};
  // At best the calls go away with all their host time, at worst only what the device idled under them.
  const double most_ns = std::max(cost_ns, std::min(calls.host_ns, view.undisturbed.idle_ns));
  set_gain(finding, view, most_ns, cost_ns);
  finding.gain.step_ms = (view.step_ns - cost_ns) / 1e6;
  add_doubts(finding, view);
  return {finding};
}

}  // namespace

RuleDescriptor allocator_churn_rule() {
  RuleDescriptor rule;
  rule.id = "allocator_churn";
  rule.title = "The driver allocates memory within the steps";
  rule.title_zh = "每一步都在向驱动申请和释放显存";
  rule.meaning =
      "The job asks the driver for memory, or gives it back, while it should compute. These calls take from a tenth of "
      "a millisecond to "
      "several, and a free waits for the device. A warm caching allocator makes none of them.";
  rule.meaning_zh =
      "作业在计算过程中向驱动申请或归还内存。每次调用耗时零点一到数毫秒，释放还会等待设备完成。预热后的缓存分配器不会产"
      "生这类调用。";
  rule.how_we_know =
      "Idle device time under cudaMalloc, cudaFree and their relatives within complete steps, with the op or line that "
      "made them. Frees "
      "outside every op are the program's own wish (empty_cache); frees inside ops are memory pressure.";
  rule.how_we_know_zh =
      "统计完整步内 cudaMalloc、cudaFree "
      "等调用期间设备的空闲时间，并给出发起的算子或代码行。算子之外的释放来自程序主动清空缓存，算子之内的释放说明显存紧"
      "张。";
  rule.what_to_do =
      "Remove empty_cache() from the loop; under pressure let segments grow (expandable_segments) or use less memory; "
      "pin buffers once.";
  rule.what_to_do_zh =
      "从循环中去掉 empty_cache()；显存紧张时启用 expandable_segments 或减少占用；锁页缓冲只申请一次。";
  rule.when_wrong =
      "When the capture holds the first steps of a job: the cache is still growing then and the calls end by "
      "themselves.";
  rule.when_wrong_zh = "若采集的是作业最初几步，缓存仍在增长，这些调用会自行消失。";
  rule.thresholds = {
      {"finding", kFindingShare, "share of the undisturbed step", "a single allocation now and then is normal"},
      {"warning", kWarningShare, "share of the undisturbed step", "below it the repair costs more than it brings"},
      kRecurring};
  rule.needs = {"step_segmentation", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel
