// Passes over memory one after the other that one kernel could do: the bandwidth of the memory sets the pace.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/efficiency/efficiency.h"
#include "analysis/kernel_table.h"
#include "analysis/step_segmentation.h"
#include "diagnosis/device_work.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/rule.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

constexpr Threshold kChain{"chain", 3, "kernels",
                           "two passes are often what the ops need; three in a row can nearly always be one"};
constexpr Threshold kLongEnough{
    "shortest kernel", 10'000, "ns",
    "shorter ones are bound by their launch, which is another disease (fragmented_kernels)"};
constexpr Threshold kWarning{"warning", 0.10, "share of the undisturbed step",
                             "every eager model has some such chains; compiling is worth it when they matter"};
// Of what fused kernels could save at best (all but the longest pass), compilers reach about this much.
constexpr double kReached = 0.6;
constexpr double kLeast = 0.3;

struct Chains {
  double ns = 0;       // per step, all kernels of chains
  double longest = 0;  // of it, the longest pass of each chain: one fused kernel takes about as long
  double kernels = 0;
  double count = 0;
  DeviceEventId example;
  SliceId first;  // ops of the costliest chain
  SliceId last;
  double costliest = 0;
};

bool is_pass(const DiagnosisInput& input, std::uint32_t event, std::vector<std::uint8_t>& known) {
  const SliceId owner = input.results.efficiency->owner_of_event[event];
  if (!owner.valid() || static_cast<double>(input.store.device_events.dur_ns[event]) < kLongEnough.value) return false;
  std::uint8_t& state = known[input.store.slices.name[owner.value].value];
  if (state == 2) {
    // By the kind of its op: the shapes of one call are enough to know what the op does.
    OpWork work;
    if (input.store.slices.detail[owner.value].valid()) {
      const ArgsId args = input.store.op_details.args[input.store.slices.detail[owner.value].value];
      if (args.valid())
        work = work_of(input.store.text(input.store.slices.name[owner.value]), read_inputs(input.store, args));
    }
    if (work.kind == WorkKind::none) return false;
    state = work.kind == WorkKind::elementwise || work.kind == WorkKind::copy ? 1 : 0;
  }
  return state == 1;
}

Chains find_chains(const DiagnosisInput& input, const DeviceEfficiency& device) {
  const TraceStore& store = input.store;
  const StepSegmentation& segmentation = *input.results.step_segmentation;
  std::vector<std::uint8_t> known(store.strings.size(), 2);
  Chains chains;
  std::vector<std::uint32_t> run;
  const auto close = [&] {
    if (run.size() >= static_cast<std::size_t>(kChain.value)) {
      double sum = 0, longest = 0;
      for (const std::uint32_t event : run) {
        const double ns = static_cast<double>(store.device_events.dur_ns[event]);
        sum += ns;
        longest = std::max(longest, ns);
      }
      chains.ns += sum;
      chains.longest += longest;
      chains.kernels += static_cast<double>(run.size());
      chains.count += 1;
      if (sum > chains.costliest) {
        chains.costliest = sum;
        chains.example = DeviceEventId(run.front());
        chains.first = input.results.efficiency->owner_of_event[run.front()];
        chains.last = input.results.efficiency->owner_of_event[run.back()];
      }
    }
    run.clear();
  };
  for (const TraceStore::DeviceRange& range : store.device_ranges) {
    if (range.device != device.device) continue;
    for (std::uint32_t i = range.first; i < range.last; ++i) {
      const std::int32_t step = segmentation.step_of_device_event[i];
      if (step < 0 || !segmentation.steps[static_cast<std::size_t>(step)].complete) continue;
      if (store.device_events.kind[i] != DeviceEventKind::kernel) continue;
      if (!is_pass(input, i, known)) {
        close();
        continue;
      }
      if (!run.empty() && store.device_events.stream[run.back()] != store.device_events.stream[i]) close();
      run.push_back(i);
    }
    close();
  }
  for (double* value : {&chains.ns, &chains.longest, &chains.kernels, &chains.count}) *value /= device.steps;
  return chains;
}

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding> earlier) {
  const StepView& view = input.facts.view;
  const DeviceEfficiency* device = verdict_device(input);
  if (device == nullptr || device->steps <= 0 || !input.results.efficiency->shapes_recorded) return {};
  const Chains chains = find_chains(input, *device);
  if (!chains.example.valid()) return {};
  const double share = compute_share(view, *device);
  // Chains inside what an earlier finding replaces go with it.
  double claimed = 0;
  for (const Finding& finding : earlier) {
    if (finding.rule == "unfused_attention" || finding.rule == "fragmented_kernels")
      claimed += finding.claim.compute_ns;
  }
  const double most = std::max(0.0, (chains.ns - chains.longest) * share - claimed);
  const double expected = kReached * most;
  if (view.share(expected) < kWarningShare) return {};

  Finding finding = new_finding(view, "memory_bandwidth_bound", expected);
  if (finding.share_of_step < kWarning.value) finding.severity = FindingSeverity::info;
  finding.title = fmt::format("Chains of kernels that only pass over memory take {} {} ({})",
                              ms_text(chains.ns * share), view.a_unit, percent_text(view.share(chains.ns * share)));
  add_evidence(finding, fmt::format("element-wise kernels and copies, three or more in a row, per {}", view.unit),
               chains.ns / 1e6, "ms", chains.example);
  add_evidence(finding, "the longest pass of each chain: what one fused kernel takes", chains.longest / 1e6, "ms");
  add_evidence(finding, fmt::format("chains per {}", view.unit), chains.count, "count");
  add_evidence(finding, fmt::format("kernels in them per {}", view.unit), chains.kernels, "count");
  if (device->memory_bound_ns > 0)
    add_evidence(finding, "share of the memory's bandwidth that memory-bound kernels reach",
                 100 * device->memory_roof_ns / device->memory_bound_ns, "%");
  for (const WorkGroup& group : device->groups) {
    if (group.example_call == chains.first || group.example_call == chains.last) add_place(finding, input, group);
  }
  if (finding.where.empty()) {
    Location kernel;
    kernel.kind = "kernel";
    kernel.name = std::string(input.store.text(input.store.device_events.name[chains.example.value]));
    kernel.device = view.device;
    finding.where.push_back(std::move(kernel));
  }
  finding.action.title = "Let torch.compile fuse the chains";
  finding.action.detail =
      "Each op of a chain reads its input from memory and writes its output back. One generated kernel reads once and "
      "writes "
      "once; the arithmetic between costs nothing.";
  finding.action.command = "model = torch.compile(model)\n";
  finding.action.side_effects = "the first steps compile; results differ in the last digits";
  finding.action.not_when = "shapes change from step to step so often that compiling never ends";
  set_kernel_gain(finding, view, {kLeast * most, expected, most});
  add_doubts(finding, view);
  return {finding};
}

}  // namespace

RuleDescriptor memory_bandwidth_bound_rule() {
  RuleDescriptor rule;
  rule.id = "memory_bandwidth_bound";
  rule.title = "Passes over memory that could be one";
  rule.title_zh = "受限于显存带宽的逐元素链";
  rule.meaning =
      "Element-wise kernels and copies follow each other, each reading and writing whole tensors for little "
      "arithmetic. The "
      "bandwidth of the memory sets their pace, and most of the traffic is not needed.";
  rule.meaning_zh =
      "逐元素核函数与拷贝接连运行，每个都为少量计算读写整个张量。其速度由显存带宽决定，而大部分读写并不必要。";
  rule.how_we_know =
      "Three or more kernels in a row on one stream, each longer than 10 us, of ops that are element-wise or copies. "
      "All but the "
      "longest of each chain could go; compilers reach a part of that.";
  rule.how_we_know_zh =
      "同一流上接连三个以上、每个长于 10 "
      "微秒、属于逐元素算子或拷贝的核函数。每条链除最长的一个外都可省去，编译器能做到其中一部分。";
  rule.what_to_do =
      "Compile the model, or use fused ops (fused activations, norms, losses); use 16 bits where possible.";
  rule.what_to_do_zh = "编译模型，或使用融合算子（激活、归一化、损失）；可行处使用 16 位。";
  rule.when_wrong =
      "When the tensors between are needed elsewhere (saved for the backward pass): then a part of the writes stays.";
  rule.when_wrong_zh = "当中间张量另有用处（为反向保存）时，部分写入仍不可省。";
  rule.thresholds = {kChain,
                     kLongEnough,
                     kWarning,
                     {"finding", kWarningShare, "share of the undisturbed step", "less is not worth a change"}};
  rule.needs = {"efficiency", "step_segmentation", "time_breakdown"};
  rule.generic = true;
  rule.run = run;
  return rule;
}

}  // namespace accel
