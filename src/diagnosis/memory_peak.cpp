// The device's memory is nearly full at its peak.
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

constexpr Threshold kNearlyFull{"nearly_full", 0.90, "share of the card's memory reserved at most",
                                "the context, libraries and communication buffers take some per cent that the "
                                "allocator does not see; what is left does not carry a longer batch"};
constexpr Threshold kFull{"full", 0.97, "share of the card's memory reserved at most",
                          "the next larger allocation ends the job"};

MemoryCategory largest_category(const MemoryPeak& peak) {
  MemoryCategory largest = MemoryCategory::unknown;
  std::int64_t most = -1;
  for (std::size_t i = 0; peak.categories && i < kMemoryCategoryCount; ++i) {
    if ((*peak.categories)[i].bytes <= most) continue;
    most = (*peak.categories)[i].bytes;
    largest = static_cast<MemoryCategory>(i);
  }
  return largest;
}

Action action_for(MemoryCategory largest) {
  Action action;
  switch (largest) {
    case MemoryCategory::activations:
      action.title = "Recompute activations in backward instead of keeping them";
      action.detail = "Most of the peak is what the forward part keeps for backward.";
      action.command = "from torch.utils.checkpoint import checkpoint\ny = checkpoint(block, x, use_reentrant=False)\n";
      action.side_effects = "the forward part of a checkpointed block runs twice: about a third more compute for it";
      action.not_when = "the batch can be made smaller with accumulation at no cost in time";
      break;
    case MemoryCategory::parameters:
    case MemoryCategory::gradients:
    case MemoryCategory::optimizer_state:
      action.title = "Shard parameters, gradients and optimizer state over the ranks";
      action.detail = "Most of the peak is the model's own state, which every rank holds in full.";
      action.command = "from torch.distributed.fsdp import fully_shard\nfully_shard(model)\n";
      action.side_effects = "parameters are gathered for every layer: more communication";
      action.not_when = "the job has one rank: then a smaller type or optimizer state in 8 bits is the repair";
      break;
    case MemoryCategory::workspace:
    case MemoryCategory::unknown:
      action.title = "See what is alive at the peak, and split the largest piece";
      action.detail =
          "The largest blocks are listed in the report under memory.devices[].peak.largest; intermediate results that "
          "live at once (logits and their gradients, attention scores) can be made piece by piece.";
      action.command =
          "torch.cuda.memory._record_memory_history()\n# ... a few steps ...\n"
          "torch.cuda.memory._dump_snapshot('memory_snapshot.pickle')\n";
      action.side_effects = "recording the history costs a few per cent while it is on";
      action.not_when = "the job never needs more than now";
      break;
  }
  return action;
}

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding>) {
  std::vector<Finding> findings;
  for (const DeviceMemory& device : input.results.memory_timeline->devices) {
    if (!device.has_levels || device.total_bytes <= 0) continue;
    const std::int64_t held = std::max(device.reserved_peak, device.peak.at.allocated);
    const double share = static_cast<double>(held) / static_cast<double>(device.total_bytes);
    if (share < kNearlyFull.value) continue;
    Finding finding = new_finding(input.facts.view, "memory_peak", 0);
    finding.severity = share >= kFull.value ? FindingSeverity::critical : FindingSeverity::warning;
    finding.title =
        fmt::format("Device {} is {} full at its peak: {} of {}", device.device, percent_text(share),
                    bytes_text(static_cast<double>(held)), bytes_text(static_cast<double>(device.total_bytes)));
    add_evidence(finding, "most memory got from the driver", static_cast<double>(held), "bytes");
    add_evidence(finding, "most memory in use by tensors", static_cast<double>(device.peak.at.allocated), "bytes",
                 device.peak.slice);
    for (std::size_t i = 0; device.peak.categories && i < kMemoryCategoryCount; ++i) {
      const CategoryMemory& part = (*device.peak.categories)[i];
      if (part.bytes == 0) continue;
      add_evidence(finding, fmt::format("of it {}", to_string(static_cast<MemoryCategory>(i))),
                   static_cast<double>(part.bytes), "bytes");
    }
    for (const MemoryBlock& block : device.peak.largest) {
      if (finding.where.size() >= 3 || !block.slice.valid()) break;
      finding.where.push_back(locate(input.store, block.slice));
      finding.where.back().device = device.device;
    }
    finding.action = action_for(largest_category(device.peak));
    add_doubts(finding, input.facts.view);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

RuleDescriptor memory_peak_rule() {
  RuleDescriptor rule;
  rule.id = "memory_peak";
  rule.title = "Device memory is nearly full";
  rule.title_zh = "显存接近耗尽";
  rule.meaning =
      "At its peak the job holds nearly all memory of the device. It runs, but a longer sequence or one more buffer "
      "ends it, and the allocator may have to give memory back in the middle of a step.";
  rule.meaning_zh =
      "作业在峰值时几乎占满显存。目前可以运行，但更长的序列或多一个缓冲区就会失败，分配器也可能在一步之中归还显存。";
  rule.how_we_know =
      "The most memory that the framework's allocator held (reserved) against the memory of the card. What was alive "
      "at "
      "the peak is told from where each block was allocated and freed.";
  rule.how_we_know_zh =
      "将框架分配器持有（reserved）的最大显存与显卡总显存相比较；峰值时存活的内容由每个显存块的申请和释放位置判断。";
  rule.what_to_do =
      "Recompute activations (checkpointing), shard the model's state over the ranks, or make large intermediate "
      "results "
      "piece by piece, by what the peak consists of.";
  rule.what_to_do_zh = "根据峰值的构成：对激活做重计算，将模型状态分片到各 rank，或分块计算大的中间结果。";
  rule.when_wrong =
      "When reserved memory is a cache that would be given back on demand: compare with what is in use at the peak.";
  rule.when_wrong_zh = "若已申请的显存只是可随时归还的缓存，应以峰值时实际占用为准。";
  rule.thresholds = {kNearlyFull, kFull};
  rule.needs = {"memory_timeline", "step_segmentation", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel
