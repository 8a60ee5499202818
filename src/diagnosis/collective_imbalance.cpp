// One rank has more device work than the others, which wait for it.
#include <fmt/format.h>

#include "diagnosis/late_rank.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

std::vector<Finding> run(const JobInput& input, std::span<const Finding>) {
  std::vector<Finding> findings;
  for (const fusion::Straggler& straggler : input.job.stragglers.stragglers) {
    if (!is_imbalance(straggler) || input.share(straggler.undisturbed_cost.expected_ns) < kLateRankShare) continue;
    Finding finding = late_rank_finding(input, straggler, "collective_imbalance");
    const fusion::LateCause& cause = straggler.causes.front();
    finding.action.title =
        fmt::format("Give {} the same device work as its peers", rank_text(input.job, straggler.ranks.front()));
    finding.action.detail =
        cause.kind == fusion::LateCause::Kind::larger_shapes
            ? fmt::format(
                  "It launches its kernels on larger inputs: {} where its peers have {}. Look for a larger batch or "
                  "shard, longer "
                  "sequences, and experts or stages that get more than their share.",
                  short_name(cause.shape, 60), short_name(cause.peers_shape, 60))
            : fmt::format(
                  "It launches {} a step where its peers launch {}: {}. Look for work that only this rank does (an "
                  "extra loss, "
                  "logging, a larger shard), for sequences or batches of unequal length, and for experts or stages "
                  "that get more "
                  "than their share.",
                  count_text(cause.own_count), count_text(cause.peers_count), short_name(cause.name, 60));
    finding.action.side_effects = "batches that are balanced by length are no longer drawn at random";
    finding.action.not_when = "the work is needed once and cannot be split: then overlap it with communication";
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

RuleDescriptor collective_imbalance_rule() {
  RuleDescriptor rule;
  rule.id = "collective_imbalance";
  rule.title = "Device work is spread unevenly over the ranks";
  rule.title_zh = "设备工作在各 rank 间分布不均";
  rule.meaning =
      "The ranks meet at every collective. If one of them has more to compute in between, the devices of the others "
      "idle "
      "inside the collective until it comes.";
  rule.meaning_zh = "各 rank 在每次集合通信处会合。若其中一个在此之前要算得更多，其他设备就在通信内空等。";
  rule.how_we_know =
      "A rank comes late (its local durations are the shortest), its device was busy meanwhile, and it ran kernels "
      "that "
      "its peers do not run, or more of them.";
  rule.how_we_know_zh = "该 rank 迟到（其本地时长最短），迟到期间设备在忙，且运行了其他 rank 没有或较少的核函数。";
  rule.what_to_do = "Balance batches, sequences, experts or stages; move work that only one rank does off the step.";
  rule.what_to_do_zh = "均衡批次、序列、专家或流水段；把只有一个 rank 做的工作移出训练步。";
  rule.when_wrong = "When the ranks take turns with the extra work over more steps than were recorded.";
  rule.when_wrong_zh = "当额外工作在更长的步数范围内由各 rank 轮流承担时。";
  rule.thresholds = {
      {"finding", kLateRankShare, "share of the undisturbed step", "ranks differ by less than that in any job"},
      {"more work", 0.01, "share of a step", "kernels of one name and shape count as more work from this excess on"}};
  rule.needs = {"step_segmentation", "device_timeline"};
  rule.run_job = run;
  return rule;
}

}  // namespace accel
