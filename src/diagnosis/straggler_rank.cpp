// One rank comes late to the collectives and the others wait for it.
#include <fmt/format.h>

#include "diagnosis/late_rank.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

using fusion::LateCause;
using fusion::LateSide;
using fusion::Straggler;

Action action_for(const JobInput& input, const Straggler& straggler) {
  const std::string who = straggler_text(input.job, straggler);
  Action action;
  const LateCause* cause = straggler.causes.empty() ? nullptr : &straggler.causes.front();
  if (straggler.side == LateSide::device) {
    action.title = fmt::format("Check the device of {}: clocks, temperature, power, other processes", who);
    action.detail =
        "The same kernels at the same shapes take longer there than on its peers: a lower clock (heat, power limit), "
        "another process on the device, or a faulty part. If nothing explains it, take the node out of the job.";
    action.command =
        "nvidia-smi -q -d CLOCK,TEMPERATURE,POWER,PERFORMANCE\nnvidia-smi --query-compute-apps=pid,name --format=csv\n";
    action.side_effects = "taking a node out needs a restart from a checkpoint, or elastic training";
    action.not_when = "the ranks have different devices on purpose: give the slower one less work";
  } else if (cause != nullptr && cause->cause == IdleCause::data_loading) {
    action.title = fmt::format("Speed up data loading on {}", who);
    action.detail =
        "Its batches come later than its peers': look at the storage that this rank reads, at the size of its shard "
        "and at "
        "the number of its workers.";
    action.side_effects = "more workers use more host memory and cores";
    action.not_when = "its samples are larger on purpose: balance the shards instead";
  } else if (cause != nullptr && cause->kind == LateCause::Kind::host_gap) {
    action.title = fmt::format("Find what the host of {} does{}", who,
                               cause->name.empty() ? "" : " before " + short_name(cause->name, 60));
    action.detail =
        "Its main thread records nothing for that long while its peers go on: Python work that only this rank does "
        "(logging, saving, evaluating, a sleep), a collection of garbage, or a core that something else uses. Frames "
        "name the line, and the interpreter counts its own collections.";
    action.command =
        "# record that rank with Python frames\n"
        "with torch.profiler.profile(with_stack=True) as prof:\n"
        "    ...\n"
        "# is it the collector of garbage? compare before and after a step\n"
        "import gc\n"
        "print(gc.get_stats())\n";
    action.side_effects = "frames make the recording heavier, and the recorded rank later";
    action.not_when = "the others have nothing to do either: then it costs nothing";
  } else if (cause != nullptr && cause->kind != LateCause::Kind::slower_host) {
    action.title = fmt::format("Take {} off the host of {}", short_name(cause->name, 60), who);
    action.detail =
        "Only this rank spends that time there, and all others wait for it: do it on every rank alike, "
        "between steps, in another process, or not at all.";
    action.side_effects = "what that work produced comes later or elsewhere";
    action.not_when = "it replaces work that the other ranks do at another time";
  } else {
    action.title = fmt::format("Compare the host of {} with its peers': cores, clocks, other processes", who);
    action.detail =
        "Nothing single explains it. A host that is slower in everything has fewer cores for its processes, a "
        "lower clock, or other work beside the job.";
    action.command = "nproc\ncat /sys/fs/cgroup/cpu.max\ntop -b -n 1 | head -20\n";
    action.side_effects = "none";
    action.not_when = "the delay does not show without the recording";
  }
  return action;
}

std::vector<Finding> run(const JobInput& input, std::span<const Finding>) {
  std::vector<Finding> findings;
  const auto add = [&](const Straggler& straggler, bool costs) {
    Finding finding = late_rank_finding(input, straggler, "straggler_rank");
    finding.action = action_for(input, straggler);
    if (!costs) {
      finding.severity = FindingSeverity::info;
      finding.title += ", which costs the job little without the recording";
    }
    findings.push_back(std::move(finding));
  };
  for (const Straggler& straggler : input.job.stragglers.stragglers) {
    if (is_imbalance(straggler)) continue;
    const bool costs = input.share(straggler.undisturbed_cost.expected_ns) >= kLateRankShare;
    // By its own doing, and the job loses little by it: worth a line, not an alarm.
    if (costs || is_explained(straggler)) add(straggler, costs);
  }
  for (const Straggler& straggler : input.job.stragglers.of_recording)
    if (is_explained(straggler)) add(straggler, false);
  return findings;
}

}  // namespace

RuleDescriptor straggler_rank_rule() {
  RuleDescriptor rule;
  rule.id = "straggler_rank";
  rule.title = "One rank holds the others up";
  rule.title_zh = "某个 rank 拖慢其他 rank";
  rule.meaning =
      "A collective ends when its last rank has arrived. A rank that comes late, for whatever reason, makes all others "
      "wait: the whole job runs at its pace.";
  rule.meaning_zh =
      "集合通信要等最后一个 rank 到达才能结束。任何原因造成的迟到都会让其他 rank 等待，整个作业按它的速度运行。";
  rule.how_we_know =
      "The late rank has the short local duration of a collective, its peers the long ones: that needs no clock. "
      "Aligned "
      "clocks are asked the same and must agree. Why it is late is the difference between what it does in a step and "
      "the "
      "median of its peers; what the recording adds on one rank is no cause. The cost without the recording is a "
      "model: "
      "the slower of host and device, with and without the difference.";
  rule.how_we_know_zh =
      "迟到 rank 的集合通信本地时长最短，其他 rank 的最长，无需时钟即可判断；对齐后的时钟须得出同样结论。"
      "原因是它每步所做之事与其他 rank 中位数的差异；采集在单个 rank 上的额外开销不算原因。无采集时的代价由模型给出："
      "有无该差异时主机与设备两者中较慢者之差。";
  rule.what_to_do = "Remove what only the late rank does, repair or replace its device or host, or balance the work.";
  rule.what_to_do_zh = "去掉只有该 rank 才做的工作，修复或更换其设备或主机，或者均衡负载。";
  rule.when_wrong =
      "When the missing file of another rank would show a later one, or when the recording itself made the rank late "
      "and "
      "its cost is not known.";
  rule.when_wrong_zh = "当缺失文件的 rank 其实更晚，或者是采集本身造成迟到而其开销未知时。";
  rule.thresholds = {
      {"finding", kLateRankShare, "share of the undisturbed step", "ranks differ by less than that in any job"},
      {"late", 0.02, "share of a step", "a rank that is later than that behind the median of its peers counts as late"},
      {"persistent", 0.75, "share of the steps", "fewer late steps are named intermittent, one-off or alternating"},
      {"one-off", 0.75, "share of all lateness of the rank", "the rest is what that one step left behind"},
      {"chance", 0.0005, "chance of a wrong name",
       "a rank is named where ranks that are late by chance alone would show as much less often than that: its own "
       "work "
       "in all steps against its peers' (Student's t), steps of two sorts, or one step far beyond all others"},
      {"little", kLateRankShare, "share of the undisturbed step",
       "a rank that is late by its own doing and costs less is named with severity info"}};
  rule.needs = {"step_segmentation", "distortion"};
  rule.run_job = run;
  return rule;
}

}  // namespace accel
