// On a processor: ops so small that a step is spent on what each op costs whatever its size.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "diagnosis/copy_exposure.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/host_idle.h"
#include "diagnosis/host_work.h"
#include "diagnosis/rule.h"
#include "diagnosis/source_location.h"
#include "diagnosis/wording.h"
#include "trace/processor.h"

namespace accel {
namespace {

constexpr Threshold kTimePerOp{
    "time per op", 10'000, "ns",
    "dispatch, autograd and the allocation of an output take 1 to 8 us of an op on a processor, and its record up to "
    "2: an op that takes less than ten, with the ops inside counted, hardly computes"};
constexpr Threshold kFewestOps{"fewest ops", 100, "per step",
                               "so few cost under a millisecond, and no batch is too small because of them"};
constexpr Threshold kSpared{"time spared at worst", 0.5, "of the time of small ops",
                            "twice the work in each op halves what they cost for the same samples"};

// Work of the processor: an outermost op, and how many ops are inside it.
struct HostOp {
  std::uint32_t row = 0;  // device event
  std::uint32_t ops = 0;
};

struct SmallOps {
  double count = 0;  // ops, those inside counted, all windows
  double small = 0;  // of them
  double small_ns = 0;
  std::vector<Interval> between;  // from the end of a small op to the next op of its thread
  std::uint32_t example = 0;      // the name that takes most
  std::string example_name;
};

std::vector<HostOp> count_ops(const TraceStore& store, TraceStore::DeviceRange range) {
  const auto& events = store.device_events;
  std::vector<HostOp> work;
  std::map<std::uint16_t, std::vector<std::size_t>> by_thread;
  for (std::uint32_t row = range.first; row < range.last; ++row) {
    const SliceId launch = events.launch[row];
    if (!launch.valid()) continue;
    by_thread[store.slices.thread[launch.value].value].push_back(work.size());
    work.push_back({row, 0});
  }
  for (std::uint32_t slice = 0; slice < store.slices.size(); ++slice) {
    if (store.slices.kind[slice] != SliceKind::op) continue;
    const auto thread = by_thread.find(store.slices.thread[slice].value);
    if (thread == by_thread.end()) continue;
    const std::int64_t start = store.slices.start_ns[slice];
    const auto after =
        std::upper_bound(thread->second.begin(), thread->second.end(), start,
                         [&](std::int64_t time, std::size_t op) { return time < events.start_ns[work[op].row]; });
    if (after == thread->second.begin()) continue;
    HostOp& op = work[*(after - 1)];
    if (start < store.device_end_ns(DeviceEventId(op.row))) ++op.ops;
  }
  return work;
}

SmallOps find_small_ops(const DiagnosisInput& input) {
  const TraceStore& store = input.store;
  const StepView& view = input.facts.view;
  const auto in_window = [&](std::int64_t time) {  // windows rise
    const auto after = std::upper_bound(view.windows.begin(), view.windows.end(), time,
                                        [](std::int64_t t, const Interval& window) { return t < window.start_ns; });
    return after != view.windows.begin() && time < (after - 1)->end_ns;
  };
  std::map<std::uint16_t, std::int64_t> small_end;  // by stream, which is a thread here
  std::map<std::uint32_t, std::pair<double, std::uint32_t>> by_name;
  SmallOps found;
  for (const HostOp& op : count_ops(store, device_range_of(store, view.device))) {
    const std::int64_t start = store.device_events.start_ns[op.row];
    if (op.ops == 0 || !in_window(start)) continue;
    const auto duration = static_cast<double>(store.device_events.dur_ns[op.row]);
    const std::uint16_t thread = store.device_events.stream[op.row].value;
    if (const auto before = small_end.find(thread); before != small_end.end()) {
      if (before->second < start) found.between.push_back({before->second, start});
      small_end.erase(before);
    }
    found.count += op.ops;
    if (duration > kTimePerOp.value * op.ops) continue;
    small_end[thread] = store.device_end_ns(DeviceEventId(op.row));
    found.small += op.ops;
    found.small_ns += duration;
    auto& [total, example] = by_name[store.device_events.name[op.row].value];
    if (total == 0) example = op.row;
    total += duration;
  }
  double most = 0;
  for (const auto& [name, sum] : by_name) {
    if (sum.first <= most) continue;
    most = sum.first;
    found.example = sum.second;
    found.example_name = short_name(store.text(StringId(name)), 60);
  }
  return found;
}

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding> earlier) {
  const StepView& view = input.facts.view;
  if (!runs_on_processor(input.store)) return {};
  SmallOps ops = find_small_ops(input);
  const double steps = std::max<double>(1, static_cast<double>(view.windows.size()));
  if (ops.small / steps < kFewestOps.value) return {};
  // Long gaps are host work, which other rules name.
  std::erase_if(ops.between, [](const Interval& gap) { return gap.end_ns - gap.start_ns > kSilentStretchNs; });
  Claim claim;
  const double idle_ns = input.facts.host_idle.inside_ns(IntervalSet::from_unsorted(std::move(ops.between)));
  claim_host_idle(claim, view, earlier, idle_ns * input.facts.host_idle.undisturbed_share);
  // Ops are recorded with the records of the ops inside them; small ones hold nearly all of those.
  const double recorded_ns =
      std::clamp(view.measured.compute_ns - view.undisturbed.compute_ns, 0.0, ops.small_ns / steps);
  claim.compute_ns = ops.small_ns / steps - recorded_ns;
  cut_to_left(claim, view, earlier);
  const double cost_ns = claim.total_ns();
  if (view.share(cost_ns) < kFindingShare) return {};

  Finding finding = new_finding(view, "small_ops", cost_ns);
  const double per_op_ns = cost_ns * steps / ops.small;
  finding.title = fmt::format("{} {} goes into {} ops that hardly compute, {} each ({})", ms_text(cost_ns), view.a_unit,
                              count_text(ops.small / steps), ms_text(per_op_ns), percent_text(finding.share_of_step));
  const DeviceEventId example(ops.example);
  add_evidence(finding, fmt::format("small ops per {}, those inside other ops counted", view.unit), ops.small / steps,
               "count", example);
  add_evidence(finding, fmt::format("all ops per {}", view.unit), ops.count / steps, "count");
  add_evidence(finding,
               fmt::format("time in small ops per {}, as recorded, most of it in {}", view.unit, ops.example_name),
               ops.small_ns / steps / 1e6, "ms", example);
  if (view.distortion_known)
    add_evidence(finding, fmt::format("of it the recording's own, per {}", view.unit), recorded_ns / 1e6, "ms");
  add_evidence(finding, fmt::format("time between them per {}, as it would be without the recording", view.unit),
               (claim.idle(IdleCause::host_compute) + claim.idle(IdleCause::launch_latency)) / 1e6, "ms");
  add_evidence(finding, "mean time of a small op, as recorded", ops.small_ns / ops.small / 1e3, "us");
  const SliceId launch = input.store.device_events.launch[ops.example];
  const SliceId op = input.store.enclosing_op(launch);
  finding.where.push_back(locate(input.store, op.valid() ? op : launch));
  finding.claim = claim;
  finding.action.title = "Give each op more to do: larger batches, or one op over many";
  finding.action.detail =
      "An op costs its dispatch, its bookkeeping for autograd and its output's memory whatever its size, and these ops "
      "do little besides. Twice the samples in a batch cost them hardly more time. Ops of one kind over "
      "many small tensors become one over a stacked tensor; torch.compile fuses what is element by element.";
  finding.action.command =
      "from torch.utils.data import DataLoader\n"
      "\n"
      "loader = DataLoader(dataset, batch_size=4 * batch_size)\n"
      "# or fewer ops for the same work\n"
      "model = torch.compile(model)\n";
  finding.action.side_effects =
      "another batch size trains differently (learning rate, normalisation) and takes more memory; compiling takes "
      "seconds to minutes at the start";
  finding.action.not_when = "samples come one by one and each answer is awaited";
  set_gain(finding, view, cost_ns, kSpared.value * cost_ns);
  finding.gain.step_ms = (view.step_ns - (1 + kSpared.value) / 2 * cost_ns) / 1e6;
  add_doubts(finding, view);
  return {finding};
}

}  // namespace

RuleDescriptor small_ops_rule() {
  RuleDescriptor rule;
  rule.id = "small_ops";
  rule.title = "Ops too small for their cost";
  rule.title_zh = "算子过小，开销大于计算";
  rule.meaning =
      "The job runs on a processor, and its ops are so small that the step goes into what every op costs whatever its "
      "size: dispatch, autograd, memory for the output.";
  rule.meaning_zh = "作业在处理器上运行，算子小到一步的时间主要花在每个算子的固定开销上：分发、自动求导、输出内存。";
  rule.how_we_know =
      "Outermost ops that take less than 10 us for each op in them, itself counted, at least 100 ops a step; their "
      "time, and the gaps after them that other rules have not named, less what the recording cost in both: an op "
      "holds "
      "the records of those that it calls.";
  rule.how_we_know_zh =
      "统计最外层算子中，平均每个算子（含自身与内部算子）不足 10 us 的部分，每步至少 100 "
      "个；代价为其时间，加上其后未被其他规则解释的间隙（间隙已扣除采集开销）。嵌套算子自身的记录开销无法与算子区分，仍"
      "计在"
      "内。";
  rule.what_to_do = "Larger batches, one op over stacked tensors in place of many, foreach optimizers, torch.compile.";
  rule.what_to_do_zh = "增大批量，用对堆叠张量的一个算子代替许多小算子，使用 foreach 优化器，或 torch.compile。";
  rule.when_wrong =
      "When the step handles one sample at a time for a reason (reinforcement learning, serving): then fewer ops are "
      "the only way.";
  rule.when_wrong_zh = "若每步只能处理一个样本（强化学习、在线推理），则只能减少算子数量。";
  rule.thresholds = {
      {"finding", kFindingShare, "share of the undisturbed step", "less is within the noise of a step"},
      {"warning", kWarningShare, "share of the undisturbed step", "below it the repair costs more than it brings"},
      kTimePerOp,
      kFewestOps,
      kSpared};
  rule.needs = {"step_segmentation", "idle_attribution", "time_breakdown"};
  rule.generic = true;
  rule.run = run;
  return rule;
}

}  // namespace accel
