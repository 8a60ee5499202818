// Large collectives that stay far below what their path carries, below what other groups of the job reach, or that run
// over a slow path where a faster one exists. The path is always named, or said to be unknown.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "diagnosis/job_parts.h"
#include "diagnosis/wording.h"
#include "fusion/flight_recorder/progress.h"

namespace accel {
namespace {

using fusion::GroupPath;
using fusion::LinkKind;

constexpr std::uint64_t kFewest = 5;                          // large collectives: fewer may all have had bad luck
constexpr double kPoorShare = 0.5 * fusion::kPathSoundShare;  // of what the path carries, by the fastest tenth
constexpr double kBelowPeers = 0.5;                           // of the median of like groups
constexpr std::size_t kFewestPeers = 2;
constexpr std::size_t kMostFindings = 3;
constexpr double kBesideCompute = 0.5;  // overlapped share from which compute may be what slows the transfer

enum class Why : std::uint8_t { below_peers, below_path, slow_path };

struct Slow {
  Why why = Why::below_path;
  std::size_t group = 0;
  double achieved = 0;    // GB/s
  double reference = 0;   // that it could reach
  double exposed_ns = 0;  // transfer of its large collectives per step with no compute beside it
  double overlapped = 0;  // share of their transfer that has compute beside it
  std::string operation;

  double lost_ns() const { return reference > achieved ? exposed_ns * (1 - achieved / reference) : 0; }
};

class Search {
 public:
  explicit Search(const fusion::Job& job) : job_(job) {}

  std::vector<Slow> find() const {
    std::vector<Slow> found;
    for (std::size_t g = 0; g < job_.topology.groups.size(); ++g) {
      const GroupPath& group = job_.topology.groups[g];
      if (group.large < kFewest || !group.achieved_gbps) continue;
      if (auto slow = judge(g, group)) {
        measure(*slow);
        found.push_back(std::move(*slow));
      }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Slow& a, const Slow& b) { return a.lost_ns() > b.lost_ns(); });
    return found;
  }

 private:
  std::optional<Slow> judge(std::size_t g, const GroupPath& group) const {
    Slow slow;
    slow.group = g;
    slow.achieved = *group.achieved_gbps;
    if (const auto peers = median_of_peers(g); peers && slow.achieved < kBelowPeers * *peers) {
      slow.why = Why::below_peers;
      slow.reference = *peers;
      return slow;
    }
    const std::optional<double> expected = group.path.expected_gbps;
    if (expected && slow.achieved < kPoorShare * *expected) {
      slow.why = Why::below_path;
      slow.reference = fusion::kPathSoundShare * *expected;
      return slow;
    }
    const LinkKind kind = group.path.link.kind;
    const bool pcie = kind == LinkKind::phb || kind == LinkKind::node || kind == LinkKind::sys;
    if (const auto faster = pcie ? faster_path(group) : std::nullopt) {
      slow.why = Why::slow_path;
      slow.reference = *faster;
      return slow;
    }
    return std::nullopt;
  }

  // Groups of as many ranks on a path of the same kind: they should be as fast.
  std::optional<double> median_of_peers(std::size_t g) const {
    std::vector<double> peers;
    for (std::size_t other = 0; other < job_.topology.groups.size(); ++other) {
      const GroupPath& group = job_.topology.groups[other];
      if (other == g || group.large < kFewest || !group.achieved_gbps) continue;
      const bool alike = job_.matching.groups[other].present.size() == job_.matching.groups[g].present.size() &&
                         group.path.link.kind == job_.topology.groups[g].path.link.kind;
      if (alike) peers.push_back(*group.achieved_gbps);
    }
    if (peers.size() < kFewestPeers) return std::nullopt;
    std::nth_element(peers.begin(), peers.begin() + static_cast<std::ptrdiff_t>(peers.size() / 2), peers.end());
    return peers[peers.size() / 2];
  }

  // What as many GPUs of the host would carry that NVLinks join, if there are so many.
  std::optional<double> faster_path(const GroupPath& group) const {
    if (!job_.topology.topology) return std::nullopt;
    const fusion::Topology& topology = *job_.topology.topology;
    const std::size_t wanted =
        job_.matching.groups[static_cast<std::size_t>(&group - job_.topology.groups.data())].present.size();
    for (std::size_t first = 0; first < topology.devices.size(); ++first) {
      if (!topology.devices[first].is_gpu) continue;
      std::vector<fusion::Endpoint> joined;
      for (std::size_t other = 0; other < topology.devices.size() && joined.size() < wanted; ++other) {
        const LinkKind kind = topology.link(first, other).kind;
        if (!topology.devices[other].is_gpu || (kind != LinkKind::nvlink && kind != LinkKind::self)) continue;
        joined.push_back({static_cast<std::int64_t>(joined.size()), "", topology.devices[other].index, product()});
      }
      if (joined.size() < wanted) continue;
      const fusion::Path path = fusion::path_around(&topology, joined);
      if (path.link.kind == LinkKind::nvlink && path.expected_gbps)
        return fusion::kPathSoundShare * *path.expected_gbps;
    }
    return std::nullopt;
  }

  std::string product() const {
    for (const fusion::RankDigest& digest : job_.set.ranks)
      for (const fusion::DigestDevice& device : digest.devices)
        if (!device.name.empty()) return device.name;
    return {};
  }

  void measure(Slow& slow) const {
    std::set<std::int64_t> steps;
    double transfer = 0;
    for (std::size_t i = 0; i < job_.timings.size(); ++i) {
      const fusion::MatchedCollective& one = job_.matching.collectives[i];
      if (!one.in_complete_step) continue;
      steps.insert(one.step);
      if (one.group != slow.group || one.bytes < fusion::large_collective_bytes(one.members.size())) continue;
      slow.operation = one.name;
      // The last rank waits for nobody: its local duration is the transfer.
      for (const fusion::Member& member : one.members) {
        if (member.rank != job_.timings[i].last) continue;
        transfer += member.length_ns();
        slow.overlapped += static_cast<double>(member.overlapped_ns);
      }
    }
    slow.exposed_ns = (transfer - slow.overlapped) / static_cast<double>(std::max<std::size_t>(1, steps.size()));
    slow.overlapped = transfer > 0 ? slow.overlapped / transfer : 0;
  }

  const fusion::Job& job_;
};

std::string gbps(double value) { return fmt::format("{:.{}f} GB/s", value, value < 10 ? 1 : 0); }

std::string ranks_of(const fusion::Job& job, const fusion::MatchedGroup& group) {
  std::vector<std::int64_t> ranks;
  for (const std::uint32_t row : group.present) ranks.push_back(job.set.rank_of(row));
  return fusion::rank_list(ranks);
}

std::string title_of(const Slow& slow, const fusion::Job& job) {
  const fusion::Path& path = job.topology.groups[slow.group].path;
  const std::string what = fmt::format("{} of ranks {} reaches {}", operation_text(slow.operation),
                                       ranks_of(job, job.matching.groups[slow.group]), gbps(slow.achieved));
  switch (slow.why) {
    case Why::below_peers:
      return fmt::format("{}, like groups reach {}; its path: {}", what, gbps(slow.reference), fusion::describe(path));
    case Why::below_path:
      return fmt::format("{} over {}, which carries {} each way", what, fusion::describe(path),
                         gbps(*path.expected_gbps));
    case Why::slow_path:
      break;
  }
  return fmt::format("{} over {}; the host has as many GPUs that NVLinks join", what, fusion::describe(path));
}

Action action_of(const Slow& slow) {
  Action action;
  if (slow.why == Why::slow_path) {
    action.title = "Place the ranks of the group on GPUs that NVLinks join";
    action.detail =
        "The ranks that exchange most should lie where links are fastest: give them such devices by "
        "CUDA_VISIBLE_DEVICES "
        "or by the order of the ranks in the group.";
    action.command = "nvidia-smi topo -m\nCUDA_VISIBLE_DEVICES=0,1,2,3 torchrun --nproc-per-node 4 train.py\n";
    action.side_effects = "other groups of the job get other devices: look at their paths too";
    action.not_when = "the devices with fast links serve other work";
    return action;
  }
  action.title = "Find out why the link is slow";
  action.detail =
      "Measure the same devices with nccl-tests, with nothing beside it. If it is fast there, the job slows it: too "
      "few "
      "channels, compute beside it, NCCL's settings. If it is slow there too, the link is: look at errors of the "
      "links, at "
      "the width that PCIe negotiated, and at NCCL_P2P_DISABLE or a missing peer access.";
  action.command =
      "all_reduce_perf -b 16M -e 1G -f 2 -g 2\n"
      "nvidia-smi nvlink -s\nnvidia-smi nvlink -e\n"
      "nvidia-smi --query-gpu=index,pcie.link.gen.current,pcie.link.width.current --format=csv\n"
      "NCCL_DEBUG=INFO torchrun ...   # which transport NCCL chose\n";
  action.side_effects = "none; taking a node with a broken link out makes the job smaller";
  action.not_when = "the collectives are slow because compute beside them takes the memory bandwidth";
  return action;
}

Finding finding_of(const Slow& slow, const JobInput& input) {
  const fusion::Job& job = input.job;
  const GroupPath& group = job.topology.groups[slow.group];
  Finding finding = new_job_finding(input, "slow_link", slow.lost_ns());
  finding.title = title_of(slow, job);
  const auto evidence = [&](std::string text, double value, std::string unit) {
    finding.evidence.push_back({std::move(text), value, std::move(unit), {}});
  };
  evidence(fmt::format("bus bandwidth of the fastest tenth of {} large {} operations, from the last arrival to the end",
                       group.large, slow.operation),
           slow.achieved, "GB/s");
  if (group.typical_gbps) evidence("bus bandwidth of the middle one of them", *group.typical_gbps, "GB/s");
  if (slow.why == Why::below_peers)
    evidence("the same of other groups of as many ranks, median", slow.reference, "GB/s");
  if (group.path.expected_gbps) {
    evidence(fmt::format("what the path carries each way: {} ({}), between {}", fusion::describe(group.path),
                         group.path.basis, group.path.between),
             *group.path.expected_gbps, "GB/s");
  }
  evidence("their exposed transfer per step", slow.exposed_ns / 1e6, "ms");
  evidence("share of their transfer with compute beside it, which shares the memory's bandwidth", 100 * slow.overlapped,
           "%");
  if (slow.overlapped > kBesideCompute) finding.confidence *= 0.7;
  finding.action = action_of(slow);
  const double lost = slow.lost_ns();
  set_job_gain(finding, input, {lost, 0.3 * lost, lost});
  Location where = rank_location(job, job.matching.groups[slow.group].present.front(), "link",
                                 group.path.between.empty() ? "unknown" : group.path.between);
  where.rank.reset();
  finding.where.push_back(std::move(where));
  return finding;
}

std::vector<Finding> run(const JobInput& input, std::span<const Finding>) {
  std::vector<Finding> findings;
  for (const Slow& slow : Search(input.job).find()) {
    if (findings.size() >= kMostFindings || input.share(slow.lost_ns()) < kFindingShare) break;
    findings.push_back(finding_of(slow, input));
    if (findings.size() > 1) findings.back().id += fmt::format("#{}", findings.size());
  }
  return findings;
}

}  // namespace

RuleDescriptor slow_link_rule() {
  RuleDescriptor rule;
  rule.id = "slow_link";
  rule.title = "A slow link between devices";
  rule.title_zh = "设备间链路过慢";
  rule.meaning =
      "Large collectives should come near to what the path between their devices carries. Far below it, or far below "
      "what "
      "like groups of the same job reach, something is wrong with the link or with its use. A group whose devices are "
      "joined by PCIe alone, on a host that has NVLinks, is placed badly.";
  rule.meaning_zh =
      "大的集合通信应接近设备间路径的带宽。若远低于路径能力，或远低于同一作业中同类组的水平，则链路或其使用方式有问题。"
      "主机有 NVLink 而组内设备仅以 PCIe 相连，则是放置不当。";
  rule.how_we_know =
      "Bus bandwidth of matched collectives, from the last arrival to the end (waiting does not count), of the fastest "
      "tenth, so that disturbances do not count either. The path comes from the output of nvidia-smi topo -m and "
      "nvlink "
      "-s, given by --topology or found beside the traces; without it only like groups are compared, and the path is "
      "said to be unknown.";
  rule.how_we_know_zh =
      "取已匹配集合通信从最后到达至结束的总线带宽（不含等待），并取最快的十分之一以排除干扰。路径来自 nvidia-smi topo "
      "-m "
      "与 nvlink -s 的输出（--topology 指定或位于跟踪旁边）；没有时只比较同类组，并注明路径未知。";
  rule.what_to_do =
      "Measure the link alone with nccl-tests, look at its errors and at the negotiated width; place groups that "
      "exchange "
      "much on devices with fast links.";
  rule.what_to_do_zh = "用 nccl-tests 单独测量链路，检查错误计数与协商宽度；把通信量大的组放在链路快的设备上。";
  rule.when_wrong =
      "When compute beside the collectives takes the memory's bandwidth, when NCCL was told to use few channels, or "
      "when "
      "the topology was taken on another host.";
  rule.when_wrong_zh = "当并行的计算占用显存带宽、NCCL 被限制了通道数，或拓扑取自另一台主机时。";
  rule.thresholds = {
      {"large", static_cast<double>(fusion::kLargeCollectiveBytes), "bytes",
       "and 1 MiB for each rank: below it a collective is mostly latency"},
      {"count", static_cast<double>(kFewest), "large collectives", "fewer may all have been disturbed"},
      {"path", kPoorShare, "share of what the path carries",
       "half of what messages of tens of megabytes were measured to reach on a sound path (two H200, 18 NVLinks)"},
      {"peers", kBelowPeers, "share of the median of like groups", "like groups on like paths differ by some percent"},
      {"finding", kFindingShare, "share of the undisturbed step", "less is not worth a change"}};
  rule.needs = {"device_timeline"};
  rule.run_job = run;
  return rule;
}

}  // namespace accel
