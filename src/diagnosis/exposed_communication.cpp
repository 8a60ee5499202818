// Communication that nothing hides, although nobody is waited for.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "diagnosis/job_parts.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

constexpr double kHalf = 0.5;
// An operation of which compute hides more than this is issued early enough: what is left is its end.
constexpr double kOverlapped = 0.5;
// The end of a last bucket that is shorter than this is no reason to change anything.
constexpr double kLastBucketShare = 0.05;

struct Operation {
  std::string name;
  double exposed_ns = 0;  // per step, transfer of the last rank
  double hidden_ns = 0;   // likewise, beside compute
  double per_step = 0;
  double bytes = 0;  // per step
  double seconds = 0;
  double bus_bytes = 0;
  std::map<std::uint32_t, double> groups;  // exposed transfer by group

  double hidden_share() const { return hidden_ns > 0 ? hidden_ns / (hidden_ns + exposed_ns) : 0; }
};

// The operation that leaves most transfer uncovered.
Operation costliest(const fusion::Job& job) {
  std::map<std::string, Operation> all;
  std::map<std::int64_t, int> steps;
  for (std::size_t i = 0; i < job.timings.size(); ++i) {
    const fusion::MatchedCollective& one = job.matching.collectives[i];
    const fusion::CollectiveTiming& timing = job.timings[i];
    if (!one.in_complete_step) continue;
    steps[one.step] = 1;
    Operation& operation = all[one.name];
    operation.name = one.name;
    ++operation.per_step;
    for (const fusion::Member& member : one.members) {
      if (member.rank != timing.last) continue;
      const auto hidden = static_cast<double>(member.overlapped_ns);
      const double exposed = member.length_ns() - hidden;
      operation.exposed_ns += exposed;
      operation.hidden_ns += hidden;
      operation.groups[one.group] += exposed;
    }
    if (one.bytes > 0) operation.bytes += static_cast<double>(one.bytes);
    if (timing.busbw_bytes_per_s) {
      operation.seconds += timing.transfer_ns / 1e9;
      operation.bus_bytes += *timing.busbw_bytes_per_s * timing.transfer_ns / 1e9;
    }
  }
  Operation most;
  for (auto& [name, operation] : all)
    if (operation.exposed_ns >= most.exposed_ns) most = operation;
  const auto count = static_cast<double>(std::max<std::size_t>(1, steps.size()));
  most.exposed_ns /= count;
  most.hidden_ns /= count;
  most.per_step /= count;
  most.bytes /= count;
  return most;
}

double compute_ns(const fusion::Job& job) {
  double compute = 0;
  double ranks = 0;
  for (const fusion::RankDigest& digest : job.set.ranks) {
    if (!digest.timing.device) continue;
    compute += digest.timing.device->expected_ns;
    ++ranks;
  }
  return ranks > 0 ? compute / ranks : 0;
}

Action action_for(const Operation& operation) {
  Action action;
  if (operation.name == "all_gather" || operation.name == "reduce_scatter") {
    action.title = "Fetch parameters earlier: prefetch in FSDP";
    action.detail =
        "Parameters are gathered when a layer needs them and gradients scattered when it is done. With prefetch the "
        "next "
        "layer's parameters travel while this one computes.";
    action.command =
        "for module, following in zip(layers, layers[1:]):\n"
        "    module.set_modules_to_forward_prefetch([following])\n"
        "    following.set_modules_to_backward_prefetch([module])\n";
    action.side_effects = "the parameters of two layers are in device memory at once";
    action.not_when = "memory for a second layer is not there: then shard over fewer ranks";
  } else if (operation.name == "all_to_all") {
    action.title = "Give the device something to compute during the exchange";
    action.detail =
        "Issue the exchange early and wait for it late: split the batch in two halves, so that one computes while "
        "the other travels, or fetch the next batch's exchange during this one.";
    action.side_effects = "two halves of a batch need their activations at once";
    action.not_when = "the result is needed at once and the batch cannot be split";
  } else if (operation.hidden_share() > kOverlapped) {
    action.title = "Make what is reduced after the backward pass smaller";
    action.detail =
        "Most of the reduction already runs beside compute. What is left is the last bucket, whose gradients come when "
        "there is nothing more to compute: smaller buckets leave a smaller last one, and gradients in bfloat16 halve "
        "it.";
    action.command =
        "from torch.distributed.algorithms.ddp_comm_hooks import default_hooks\n"
        "model = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=10)\n"
        "model.register_comm_hook(None, default_hooks.bf16_compress_hook)\n";
    action.side_effects = "more and smaller reductions; compressed gradients change the result: check the loss";
    action.not_when = "the share is small: an end of the last bucket is always left";
  } else {
    action.title = "Start the reduction of gradients while the backward pass still computes";
    action.detail =
        "DistributedDataParallel reduces a bucket as soon as its gradients are there. Reductions that are issued after "
        "the "
        "backward pass, or in one last large bucket, run with nothing beside them. What cannot be hidden can be made "
        "smaller: "
        "gradients in bfloat16 halve it.";
    action.command =
        "model = torch.nn.parallel.DistributedDataParallel(\n"
        "    model, bucket_cap_mb=25, gradient_as_bucket_view=True)\n";
    action.side_effects =
        "kernels that run beside a reduction are a little slower; compressed gradients change the result: check the "
        "loss";
    action.not_when = "there is no compute left to hide it: more accumulation steps per reduction help then";
  }
  return action;
}

std::vector<Finding> run(const JobInput& input, std::span<const Finding> earlier) {
  const double exposed = transfer_exposed_ns(input.job);
  double others = 0;  // of the same time, named by another rule
  for (const Finding& finding : earlier)
    if (finding.rule == "small_collectives" || finding.rule == "slow_link") others += finding.claim.communication_ns;
  const double cost = std::max(0.0, exposed - others);
  if (input.share(cost) < kWarningShare) return {};
  const Operation operation = costliest(input.job);
  Finding finding = new_job_finding(input, "exposed_communication", cost);
  finding.title = fmt::format("Communication runs for {} a step with no compute beside it ({}), mostly {}",
                              ms_text(exposed), percent_text(input.share(exposed)), operation.name);
  const auto evidence = [&](std::string text, double value, std::string unit) {
    finding.evidence.push_back({std::move(text), value, std::move(unit), {}});
  };
  evidence("exposed communication per step of the rank that waits least", exposed / 1e6, "ms");
  evidence(fmt::format("share of {} that compute hides", operation.name), operation.hidden_share() * 100, "%");
  if (operation.seconds > 0)
    evidence(fmt::format("bus bandwidth of {} from the last arrival to the end", operation.name),
             operation.bus_bytes / operation.seconds / 1e9, "GB/s");
  const auto group = std::max_element(operation.groups.begin(), operation.groups.end(),
                                      [](const auto& one, const auto& other) { return one.second < other.second; });
  if (group != operation.groups.end())
    evidence("path of most of it: " + path_text(input.job, group->first), kNoValue, "");
  evidence("waiting for other ranks per step, mean of the ranks, not counted here",
           input.job.stragglers.exposed_waiting_ns / 1e6, "ms");
  evidence(fmt::format("{} per step", operation.name), operation.per_step, "count");
  const double compute = compute_ns(input.job);
  evidence("compute per step that could hide it", compute / 1e6, "ms");
  finding.action = action_for(operation);
  if (operation.hidden_share() > kOverlapped && input.share(cost) < kLastBucketShare)
    finding.severity = FindingSeverity::info;
  const double hidden = std::min(cost, compute);
  set_job_gain(finding, input, {kHalf * hidden, 0, hidden});
  finding.where.push_back(rank_location(input.job, 0, "collective", operation.name));
  finding.where.back().rank.reset();
  return {finding};
}

}  // namespace

RuleDescriptor exposed_communication_rule() {
  RuleDescriptor rule;
  rule.id = "exposed_communication";
  rule.title = "Communication with no compute beside it";
  rule.title_zh = "没有计算与之重叠的通信";
  rule.meaning =
      "While data travel between the ranks and the device computes nothing, the step gets longer by the transfer. Most "
      "of it "
      "can run beside compute if it is issued early enough.";
  rule.meaning_zh =
      "数据在 rank 间传输而设备没有计算时，训练步就延长了这段传输时间。只要发起得足够早，大部分传输可以与计算并行。";
  rule.how_we_know =
      "Communication less compute on the device of the rank that waits least: waiting for a late rank is another "
      "matter and "
      "another rule. Bandwidth is taken from the last arrival to the end, never from a local duration, which holds the "
      "waiting.";
  rule.how_we_know_zh =
      "取等待最少的 rank 上未被计算覆盖的通信时间：等待迟到 rank "
      "属于另一条规则。带宽按最后到达至结束计算，绝不用含等待的本"
      "地时长。";
  rule.what_to_do = "Issue it earlier, in buckets, with prefetch; make it smaller; reduce less often.";
  rule.what_to_do_zh = "更早发起、分桶、预取；减小数据量；降低归约频率。";
  rule.when_wrong =
      "When the result is needed at once and there is no other work, or when the recording delayed the compute.";
  rule.when_wrong_zh = "当结果立即需要且没有其他工作，或者是采集推迟了计算时。";
  rule.thresholds = {{"finding", kWarningShare, "share of the undisturbed step",
                      "less is the end of a last bucket, which nothing can hide"},
                     {"overlapped", kOverlapped, "share of the operation beside compute",
                      "more is issued early enough: the action is about its end, not about overlap"},
                     {"last bucket", kLastBucketShare, "share of the undisturbed step",
                      "such an end of an operation that is issued early enough is severity info"}};
  rule.needs = {"device_timeline", "step_segmentation"};
  rule.run_job = run;
  return rule;
}

}  // namespace accel
