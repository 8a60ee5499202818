// Many small collectives where a few larger ones would do.
#include "diagnosis/small_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "diagnosis/job_parts.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

constexpr std::int64_t kSmallBytes = 256 * 1024;  // below it latency and not bandwidth is paid for, on any link
constexpr double kManyPerStep = 8;
constexpr double kExposed = 0.5;  // of its duration: what is hidden costs nothing
constexpr double kAtLeast = 0.001;

std::vector<Finding> run(const JobInput& input, std::span<const Finding>) {
  const SmallCollectives small = find_small_collectives(input.job);
  if (small.per_step < kManyPerStep || input.share(small.exposed_ns) < kAtLeast) return {};
  Finding finding = new_job_finding(input, "small_collectives", small.exposed_ns);
  const fusion::MatchedGroup& group = input.job.matching.groups[small.group];
  finding.title =
      fmt::format("{} small {} operations a step, each of at most {}, one after the other with nothing beside them",
                  count_text(small.per_step), small.name, bytes_text(static_cast<double>(small.largest_bytes)));
  const auto evidence = [&](std::string text, double value, std::string unit) {
    finding.evidence.push_back({std::move(text), value, std::move(unit), {}});
  };
  evidence(fmt::format("{} per step of at most {} in group {}", small.name,
                       bytes_text(static_cast<double>(kSmallBytes)), group.name.empty() ? "of all ranks" : group.name),
           small.per_step, "count");
  evidence("mean transfer of one, from the last arrival to the end", small.transfer_ns / 1e3, "us");
  evidence("what they move together per step", static_cast<double>(small.total_bytes), "bytes");
  evidence("exposed transfer of all of them per step", small.exposed_ns / 1e6, "ms");
  evidence("their path: " + path_text(input.job, small.group), kNoValue, "");
  finding.action.title = fmt::format("Join the small {} operations into few large ones", small.name);
  finding.action.detail =
      "Each pays the latency of a launch and of the links, whatever its size. Put the tensors into one flat buffer, or "
      "let "
      "DistributedDataParallel or FSDP bucket them.";
  finding.action.command =
      "# instead of one all_reduce per parameter\n"
      "with torch.distributed._coalescing_manager(async_ops=True) as work:\n"
      "    for p in model.parameters():\n"
      "        torch.distributed.all_reduce(p.grad)\n"
      "work.wait()\n"
      "# or: model = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=25)\n";
  finding.action.side_effects = "a flat buffer needs memory of the size of what is joined";
  finding.action.not_when = "each result is needed before the next operation can be issued";
  // One operation of the same latency is left.
  const double saved = small.exposed_ns * (1 - 1 / small.per_step);
  set_job_gain(finding, input, {saved, 0.5 * saved, saved});
  finding.where.push_back(rank_location(input.job, 0, "collective", small.name));
  finding.where.back().rank.reset();
  return {finding};
}

}  // namespace

SmallCollectives find_small_collectives(const fusion::Job& job) {
  std::map<std::pair<std::uint32_t, std::string>, SmallCollectives> all;
  std::set<std::int64_t> steps;
  for (std::size_t i = 0; i < job.timings.size(); ++i) {
    const fusion::MatchedCollective& one = job.matching.collectives[i];
    if (!one.in_complete_step) continue;
    steps.insert(one.step);
    if (one.bytes == kNotRecorded || one.bytes > kSmallBytes) continue;
    // The last rank waits for nobody: what it leaves uncovered is exposed transfer.
    double exposed = 0;
    for (const fusion::Member& member : one.members) {
      if (member.rank == job.timings[i].last) exposed = member.length_ns() - static_cast<double>(member.overlapped_ns);
    }
    if (exposed < kExposed * job.timings[i].transfer_ns) continue;
    SmallCollectives& small = all[{one.group, one.name}];
    small.name = one.name;
    small.group = one.group;
    ++small.per_step;
    small.exposed_ns += exposed;
    small.transfer_ns += job.timings[i].transfer_ns;
    small.largest_bytes = std::max(small.largest_bytes, one.bytes);
    small.total_bytes += one.bytes;
  }
  SmallCollectives most;
  for (auto& [key, small] : all)
    if (small.per_step > most.per_step) most = small;
  if (most.per_step == 0 || steps.empty()) return {};
  most.transfer_ns /= most.per_step;
  const auto count = static_cast<double>(steps.size());
  most.per_step /= count;
  most.exposed_ns /= count;
  most.total_bytes /= static_cast<std::int64_t>(steps.size());
  return most;
}

RuleDescriptor small_collectives_rule() {
  RuleDescriptor rule;
  rule.id = "small_collectives";
  rule.title = "Many small collectives";
  rule.title_zh = "大量小集合通信";
  rule.meaning =
      "A small collective takes as long as the latency of launch and links, whatever it moves. One per parameter or "
      "tensor "
      "adds up, while one of the joined size would cost hardly more than a single of them.";
  rule.meaning_zh =
      "小的集合通信耗时取决于启动与链路延迟，与数据量无关。逐参数逐张量通信会累加，而合并后的一次几乎不比其中一次更贵"
      "。";
  rule.how_we_know =
      "Matched collectives of one kind and group per step, below a size at which links are limited by latency, whose "
      "transfer (from the last arrival to the end) has no compute beside it.";
  rule.how_we_know_zh = "统计每步同类同组、小于延迟受限尺寸、且传输（最后到达至结束）期间没有计算的已匹配集合通信。";
  rule.what_to_do = "Join them: buckets of DistributedDataParallel, a flat buffer, or coalesced operations.";
  rule.what_to_do_zh = "合并：使用 DistributedDataParallel 的桶、扁平缓冲区或合并操作。";
  rule.when_wrong = "When every result is needed before the next operation can be issued.";
  rule.when_wrong_zh = "当每个结果都必须先得到才能发出下一个操作时。";
  rule.thresholds = {
      {"small", static_cast<double>(kSmallBytes), "bytes",
       "below it latency and not bandwidth is paid for on any link"},
      {"many", kManyPerStep, "per step", "fewer cannot add up to much"},
      {"exposed", kExposed, "share of its transfer", "what is hidden by compute costs nothing"},
      {"finding", kAtLeast, "share of the undisturbed step", "the launches that go away besides are not counted here"}};
  rule.needs = {"step_segmentation", "device_timeline"};
  rule.run_job = run;
  return rule;
}

}  // namespace accel
