// Memory that was got from the driver lies idle in pieces that fit nobody.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/memory_timeline.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/rule.h"
#include "diagnosis/source_location.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

constexpr Threshold kSlack{"slack", 0.20, "share of the reserved memory that is not in use at the peak",
                           "rounding of blocks alone leaves 2 to 10 % in healthy training jobs"};
constexpr Threshold kSlackBytes{"slack_bytes", 1073741824, "bytes", "segments have 2 and 20 MiB: small jobs round up"};
constexpr Threshold kFilled{"filled", 0.80, "share of the card's memory reserved at most",
                            "idle memory is missed only where the card is nearly full"};
constexpr Threshold kForced{"forced", 0.5, "forced driver calls per complete step",
                            "one at a change of shapes is normal; one every other step comes again for ever"};

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding>) {
  const StepView& view = input.facts.view;
  std::vector<Finding> findings;
  for (const DeviceMemory& device : input.results.memory_timeline->devices) {
    if (!device.has_levels || device.peak.at.reserved <= 0) continue;
    const MemoryFragmentation& found = device.fragmentation;
    const double slack = static_cast<double>(found.slack_at_peak);
    const double share = slack / static_cast<double>(device.peak.at.reserved);
    const double steps = std::max<double>(1, static_cast<double>(view.host_steps.size()));
    const double forced_per_step = static_cast<double>(found.forced) / steps;
    const bool idle_pieces = share >= kSlack.value && slack >= kSlackBytes.value;
    const bool forced = forced_per_step >= kForced.value && found.forced > 1;
    if (!idle_pieces && !forced) continue;
    const bool filled = device.total_bytes > 0 && static_cast<double>(device.reserved_peak) >=
                                                      kFilled.value * static_cast<double>(device.total_bytes);
    Finding finding = new_finding(view, "memory_fragmentation", 0);
    finding.severity = forced || filled ? FindingSeverity::warning : FindingSeverity::info;
    finding.title = forced
                        ? fmt::format("{} allocations {} go to the driver although enough memory is reserved and free",
                                      count_text(forced_per_step), view.a_unit)
                        : fmt::format("{} of the memory reserved on device {} is not in use at the peak ({})",
                                      percent_text(share), device.device, bytes_text(slack));
    add_evidence(finding, "reserved and not in use at the peak", slack, "bytes");
    add_evidence(finding, "of the reserved memory", 100 * share, "%");
    add_evidence(finding, "allocations for which the reserved memory had to grow",
                 static_cast<double>(found.driver_growth), "count");
    if (found.forced > 0) {
      add_evidence(finding, "of them although as much was reserved and free", static_cast<double>(found.forced),
                   "count", found.forced_slice);
      add_evidence(finding, "largest of these requests", static_cast<double>(found.forced_bytes), "bytes",
                   found.forced_slice);
      add_evidence(finding, "reserved and free at that time", static_cast<double>(found.forced_free_bytes), "bytes");
      if (found.forced_slice.valid()) {
        finding.where.push_back(locate(input.store, found.forced_slice));
        finding.where.back().device = device.device;
      }
    }
    finding.action.title = "Let the allocator's segments grow in place";
    finding.action.detail =
        "Free memory lies in segments that are too small for what is asked for. Segments that grow in place leave no "
        "such pieces; equal sizes from step to step (padding to a few lengths) leave none either.";
    finding.action.command = "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n";
    finding.action.side_effects = "tensors cannot be shared with other processes by CUDA IPC on some versions";
    finding.action.not_when = "the memory is never missed: the card is far from full and the driver is not called";
    if (forced || filled) finding.gain.memory_bytes = found.slack_at_peak;
    add_doubts(finding, view);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

RuleDescriptor memory_fragmentation_rule() {
  RuleDescriptor rule;
  rule.id = "memory_fragmentation";
  rule.title = "Reserved memory lies in pieces that fit no request";
  rule.title_zh = "显存碎片：已申请的显存无法满足请求";
  rule.meaning =
      "The framework holds memory that no tensor uses, in pieces too small for the next request. The job runs out of "
      "memory earlier than its tensors would, or asks the driver again and again.";
  rule.meaning_zh =
      "框架持有的部分显存没有张量使用，却因零碎而满足不了下一次请求。作业会比张量实际所需更早耗尽显存，或反复向驱动申请"
      "。";
  rule.how_we_know =
      "Reserved less allocated memory at the peak, and allocations of 1 MiB or more for which the reserved memory had "
      "to "
      "grow although as much was reserved and free.";
  rule.how_we_know_zh = "统计峰值时已申请与已占用之差，以及 1 MiB 以上、在空闲足够时仍使已申请显存增长的分配。";
  rule.what_to_do = "Let segments grow in place (expandable_segments), or make sizes equal from step to step.";
  rule.what_to_do_zh = "启用 expandable_segments 使段原地增长，或使各步的尺寸一致。";
  rule.when_wrong =
      "When another stream or a private pool (CUDA graphs) holds the free memory: it is reserved for them on purpose.";
  rule.when_wrong_zh = "若空闲显存属于其他流或 CUDA graph 的私有池，则为有意保留。";
  rule.thresholds = {kSlack, kSlackBytes, kFilled, kForced};
  rule.needs = {"memory_timeline", "step_segmentation", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel
