// Long runs of element-wise kernels that one fused kernel would replace.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/elementwise.h"
#include "diagnosis/copy_exposure.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/host_idle.h"
#include "diagnosis/range_work.h"
#include "diagnosis/rule.h"
#include "diagnosis/source_location.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

constexpr Threshold kLongRun{
    "run", 7, "kernels in a row",
    "the layers of a library, their casts and gradient sums put up to six element-wise kernels in "
    "a row; more is a formula written op by op"};
constexpr Threshold kSaved{
    "device time saved by fusing", 0.5, "of what a single pass would save",
    "a fused kernel reads and writes each tensor once, but not every pair of kernels can be fused"};

struct Runs {
  double count = 0;               // runs, all windows
  double kernels = 0;             // kernels in them
  double device_ns = 0;           // their time
  double saved_ns = 0;            // of it, by single passes
  std::vector<Interval> between;  // from the end of one kernel to the start of the next
  std::size_t longest = 0;
  std::uint32_t longest_first = 0;  // device event rows
  std::vector<std::uint32_t> longest_rows;
};

void close_run(const TraceStore& store, std::vector<std::uint32_t>& run, Runs& runs) {
  const auto computing = std::count_if(run.begin(), run.end(), [&](std::uint32_t row) {
    return is_elementwise_computation(store.text(store.device_events.name[row]));
  });
  if (run.size() >= static_cast<std::size_t>(kLongRun.value) && 2 * static_cast<std::size_t>(computing) >= run.size()) {
    double total = 0;
    for (std::size_t k = 0; k < run.size(); ++k) {
      total += static_cast<double>(store.device_events.dur_ns[run[k]]);
      if (k > 0)
        runs.between.push_back({store.device_end_ns(DeviceEventId(run[k - 1])), store.device_events.start_ns[run[k]]});
    }
    runs.count += 1;
    runs.kernels += static_cast<double>(run.size());
    runs.device_ns += total;
    runs.saved_ns += total * (1 - 1 / static_cast<double>(run.size()));
    if (run.size() > runs.longest) {
      runs.longest = run.size();
      runs.longest_rows = run;
    }
  }
  run.clear();
}

Runs find_runs(const DiagnosisInput& input) {
  const TraceStore& store = input.store;
  const StepView& view = input.facts.view;
  const IntervalSet optimizer = measure_ranges(store, view, "Optimizer.").time;
  Runs runs;
  std::map<std::uint16_t, std::vector<std::uint32_t>> open;  // by stream
  const TraceStore::DeviceRange range = device_range_of(store, view.device);
  const auto inside = [](std::span<const Interval> set, std::int64_t time) {
    const auto after = std::upper_bound(set.begin(), set.end(), time,
                                        [](std::int64_t t, const Interval& part) { return t < part.start_ns; });
    return after != set.begin() && time < (after - 1)->end_ns;
  };
  for (std::uint32_t row = range.first; row < range.last; ++row) {
    std::vector<std::uint32_t>& run = open[store.device_events.stream[row].value];
    const SliceId launch = store.device_events.launch[row];
    const bool fits = fits_into_formula(store, *input.results.event_index, row) &&
                      inside(view.host_steps, store.slices.start_ns[launch.value]) &&
                      !inside(optimizer.intervals(), store.slices.start_ns[launch.value]);
    if (!fits) {
      close_run(store, run, runs);
      continue;
    }
    // Forward and backward are launched by different threads: a run does not go from one to the other.
    if (!run.empty()) {
      const SliceId before = store.device_events.launch[run.back()];
      if (store.slices.thread[before.value] != store.slices.thread[launch.value]) close_run(store, run, runs);
    }
    run.push_back(row);
  }
  for (auto& [stream, run] : open) close_run(store, run, runs);
  return runs;
}

std::string ops_of(const TraceStore& store, const std::vector<std::uint32_t>& rows) {
  std::string list;
  std::size_t shown = 0;
  StringId last;
  for (const std::uint32_t row : rows) {
    const SliceId op = store.enclosing_op(store.device_events.launch[row]);
    if (!op.valid() || store.slices.name[op.value] == last) continue;
    last = store.slices.name[op.value];
    if (shown++ >= 8) break;
    if (!list.empty()) list += ", ";
    list += short_name(store.text(last), 40);
  }
  return list;
}

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding> earlier) {
  const StepView& view = input.facts.view;
  Runs runs = find_runs(input);
  if (runs.count == 0) return {};
  const double steps = std::max<double>(1, static_cast<double>(view.host_steps.size()));
  Claim claim;
  const double idle_ns = input.facts.host_idle.inside_ns(IntervalSet::from_unsorted(std::move(runs.between)));
  claim_host_idle(claim, view, earlier, idle_ns * input.facts.host_idle.undisturbed_share);
  claim.compute_ns = kSaved.value * runs.saved_ns / steps;
  cut_to_left(claim, view, earlier);
  const double cost_ns = claim.total_ns();
  if (view.share(cost_ns) < kFindingShare) return {};

  Finding finding = new_finding(view, "fragmented_kernels", cost_ns);
  finding.title =
      fmt::format("{} runs of element-wise kernels {} could be one kernel each: {} ({})",
                  count_text(runs.count / steps), view.a_unit, ms_text(cost_ns), percent_text(finding.share_of_step));
  const DeviceEventId first(runs.longest_rows.front());
  add_evidence(finding, fmt::format("element-wise kernels in runs of seven or more per {}", view.unit),
               runs.kernels / steps, "count", first);
  add_evidence(finding, fmt::format("their time on the device per {}", view.unit), runs.device_ns / steps / 1e6, "ms");
  add_evidence(finding,
               fmt::format("idle device time between them per {}, as it would be without the recording", view.unit),
               (claim.idle(IdleCause::host_compute) + claim.idle(IdleCause::launch_latency)) / 1e6, "ms");
  add_evidence(finding, fmt::format("longest run, from {}", ops_of(input.store, runs.longest_rows)),
               static_cast<double>(runs.longest), "count", first);
  const SliceId launch = input.store.device_events.launch[first.value];
  const SliceId op = input.store.enclosing_op(launch);
  Location place = locate(input.store, op.valid() ? op : launch);
  place.device = view.device;
  finding.where.push_back(place);
  finding.claim = claim;
  const std::string line = place.line ? fmt::format(" at {}:{}", place.file, *place.line) : std::string();
  finding.action.title = "Fuse the element-wise formula" + line;
  finding.action.detail = fmt::format(
      "The longest run is {} kernels over the same data ({}). Each reads and writes all of it and costs a launch. A "
      "library "
      "function (torch.nn.functional.gelu, rms_norm, layer_norm, scaled_dot_product_attention) or torch.compile makes "
      "one "
      "kernel of it.",
      runs.longest, ops_of(input.store, runs.longest_rows));
  finding.action.command =
      "import torch\n"
      "from torch.nn import functional\n"
      "\n"
      "# where the formula has a name in the library:\n"
      "y = functional.gelu(x, approximate=\"tanh\")\n"
      "y = functional.rms_norm(x, (x.shape[-1],), weight)\n"
      "# else compile the function or the module that holds it" +
      line +
      "\n"
      "model = torch.compile(model)\n";
  finding.action.side_effects = "results differ in the last bits; compiling takes seconds to minutes at the start";
  finding.action.not_when = "a value between two of the ops is needed by itself, or shapes change at every step";
  finding.remedies = {remedy(TransformationKind::fuse)};
  finding.remedies.front().shortest_run = static_cast<std::uint32_t>(kLongRun.value);
  set_gain(finding, view, cost_ns, 0.4 * cost_ns);
  add_doubts(finding, view);
  return {finding};
}

}  // namespace

RuleDescriptor fragmented_kernels_rule() {
  RuleDescriptor rule;
  rule.id = "fragmented_kernels";
  rule.title = "A formula in many small kernels";
  rule.title_zh = "公式被拆成许多小核函数";
  rule.meaning =
      "Element-wise ops run one kernel each over the same data. Every one of them costs a launch and a pass over "
      "memory "
      "that a fused kernel saves.";
  rule.meaning_zh = "逐元素算子各自用一个核函数处理同一份数据。每个都要一次下发和一遍显存访问，融合后即可省去。";
  rule.how_we_know =
      "Runs of seven or more element-wise kernels and reductions on one stream with nothing else in between, outside "
      "the "
      "optimizer, at least half of which compute (fills and copies do not). The cost is the idle time between them, "
      "less what the recording cost, and half of what a single pass "
      "over the data would save.";
  rule.how_we_know_zh =
      "同一流上连续七个以上逐元素或归约核函数，中间没有其他任务，不在优化器内，且至少一半在做计算（填充与复制不算）。代"
      "价为其间扣除采集开销后的空闲，加上单"
      "遍访问可省时间的一半。";
  rule.what_to_do = "Use the library's function for it, or torch.compile.";
  rule.what_to_do_zh = "使用库中对应的函数，或 torch.compile。";
  rule.when_wrong =
      "When the kernels in a row belong to tensors that have nothing to do with each other: those cannot be fused.";
  rule.when_wrong_zh = "当连续的核函数处理的是互不相关的张量时，无法融合。";
  rule.thresholds = {
      {"finding", kFindingShare, "share of the undisturbed step", "less is within the noise of a step"},
      {"warning", kWarningShare, "share of the undisturbed step", "below it the repair costs more than it brings"},
      kLongRun,
      kSaved};
  rule.needs = {"event_index", "step_segmentation", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel
