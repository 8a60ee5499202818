// Kernels that only rearrange tensors: between layouts for convolutions, and copies that reorder dimensions.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "analysis/efficiency/kernel_kinds.h"
#include "analysis/step_segmentation.h"
#include "diagnosis/device_work.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/rule.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

constexpr Threshold kReordering{
    "reordering copies", 0.10, "share of the undisturbed step",
    "attention layers of every framework reorder heads at a cost of some percent; where it is "
    "more, the program does it"};

struct Layout {
  double ns = 0;  // per step
  double kernels = 0;
  double largest_ns = 0;
  DeviceEventId largest;
  SliceId owner;
};

// Kernels of libraries that change the layout for a convolution, in complete steps.
Layout of_convolutions(const DiagnosisInput& input, const DeviceEfficiency& device) {
  const TraceStore& store = input.store;
  const StepSegmentation& segmentation = *input.results.step_segmentation;
  std::vector<std::uint8_t> is_layout(store.strings.size(), 2);
  Layout layout;
  for (const TraceStore::DeviceRange& range : store.device_ranges) {
    if (range.device != device.device) continue;
    for (std::uint32_t i = range.first; i < range.last; ++i) {
      const std::int32_t step = segmentation.step_of_device_event[i];
      if (store.device_events.kind[i] != DeviceEventKind::kernel || step < 0) continue;
      if (!segmentation.steps[static_cast<std::size_t>(step)].complete) continue;
      std::uint8_t& known = is_layout[store.device_events.name[i].value];
      if (known == 2) known = changes_layout(store.text(store.device_events.name[i])) ? 1 : 0;
      if (known == 0) continue;
      const double ns = static_cast<double>(store.device_events.dur_ns[i]);
      layout.ns += ns;
      layout.kernels += 1;
      if (ns <= layout.largest_ns) continue;
      layout.largest_ns = ns;
      layout.largest = DeviceEventId(i);
      layout.owner = input.results.efficiency->owner_of_event[i];
    }
  }
  layout.ns /= device.steps;
  layout.kernels /= device.steps;
  return layout;
}

// Dimensions from the widest stride to the narrowest; those of size one do not count.
std::vector<std::size_t> order_of(const OpInput& input) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < input.shape.size(); ++i) {
    if (input.shape[i] != 1) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return input.strides[a] > input.strides[b]; });
  return order;
}

bool reorders(const TraceStore& store, const WorkGroup& group) {
  if (group.work.kind != WorkKind::copy || !group.args.valid()) return false;
  const OpInputs inputs = read_inputs(store, group.args);
  const OpInput* to = inputs.tensor(0);
  const OpInput* from = inputs.tensor(1);
  if (to == nullptr || from == nullptr || to->shape != from->shape) return false;
  if (to->strides.empty() || from->strides.empty()) return false;
  // A broadcast source has strides of 0: that is an expansion.
  for (std::size_t i = 0; i < from->shape.size(); ++i) {
    if (from->shape[i] != 1 && from->strides[i] == 0) return false;
  }
  return order_of(*to) != order_of(*from);
}

Action of_convolution_layout() {
  Action action;
  action.title = "Keep images in channels_last";
  action.detail =
      "The convolution kernels of this device want channels last: with tensors in that layout from the start, no "
      "kernel has "
      "to rearrange them, and normalisation and pooling run in kernels that read whole rows.";
  action.command =
      "model = model.to(memory_format=torch.channels_last)\n"
      "images = images.to(\"cuda\", memory_format=torch.channels_last, non_blocking=True)\n";
  action.side_effects = "results differ in the last digits; ops without a channels_last kernel copy back";
  action.not_when = "the host sets the pace: then the step stays as long as the host takes, whatever the device saves";
  return action;
}

Action of_reordering() {
  Action action;
  action.title = "Avoid copies that only reorder dimensions";
  action.detail =
      "permute() or transpose() followed by contiguous() or reshape() writes the whole tensor again. Ops that take "
      "strided "
      "inputs need no copy; a projection can write its result in the order in which it is needed.";
  action.command =
      "# q, k, v stay views: scaled_dot_product_attention and matmul take strides\n"
      "q, k, v = qkv.view(batch, length, 3, heads, width).permute(2, 0, 3, 1, 4)\n"
      "out = torch.nn.functional.scaled_dot_product_attention(q, k, v)\n";
  action.side_effects = "none if the op that follows reads strided tensors well";
  action.not_when = "the tensor is read many times afterwards: one copy may then be cheaper than strided reads";
  return action;
}

Finding finding_for(const DiagnosisInput& input, double cost_ns, std::string title) {
  Finding finding = new_finding(input.facts.view, "layout_copies", cost_ns);
  finding.title = std::move(title);
  return finding;
}

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding>) {
  const StepView& view = input.facts.view;
  const DeviceEfficiency* device = verdict_device(input);
  if (device == nullptr || device->steps <= 0) return {};
  const double share = compute_share(view, *device);
  std::vector<Finding> findings;

  const Layout layout = of_convolutions(input, *device);
  if (view.share(layout.ns * share) >= kFindingShare) {
    const double cost = layout.ns * share;
    Finding finding = finding_for(input, cost,
                                  fmt::format("Changing the layout of tensors for convolutions takes {} {} ({})",
                                              ms_text(cost), view.a_unit, percent_text(view.share(cost))));
    add_evidence(finding, fmt::format("kernels that only rearrange tensors, per {}", view.unit), layout.ns / 1e6, "ms",
                 layout.largest);
    add_evidence(finding, fmt::format("such kernels per {}", view.unit), layout.kernels, "count");
    for (const WorkGroup& group : device->groups) {
      if (group.example_call == layout.owner) add_place(finding, input, group);
    }
    Location kernel;
    kernel.kind = "kernel";
    kernel.name = std::string(input.store.text(input.store.device_events.name[layout.largest.value]));
    kernel.device = view.device;
    finding.where.push_back(std::move(kernel));
    finding.action = of_convolution_layout();
    // In the other layout convolutions may choose other kernels; half of the gain is sure at most.
    set_kernel_gain(finding, view, {cost / 2, cost, cost});
    if (!device_surely_paces(view)) finding.gain.step_ms.reset();
    add_doubts(finding, view);
    findings.push_back(std::move(finding));
  }

  double cost = 0, calls = 0;
  const WorkGroup* largest = nullptr;
  for (const WorkGroup& group : device->groups) {
    if (group.ns_in_steps <= 0 || !reorders(input.store, group)) continue;
    cost += ns_per_step(*device, group) * share;
    calls += static_cast<double>(group.calls_in_steps) / device->steps;
    if (largest == nullptr) largest = &group;
  }
  if (largest != nullptr && view.share(cost) >= kReordering.value / 2) {
    Finding finding = finding_for(input, cost,
                                  fmt::format("Copies that only reorder dimensions take {} {} ({})", ms_text(cost),
                                              view.a_unit, percent_text(view.share(cost))));
    if (view.share(cost) < kReordering.value) finding.severity = FindingSeverity::info;
    add_evidence(finding, fmt::format("copies into another order of dimensions, per {}", view.unit), cost / 1e6, "ms",
                 largest->example);
    add_evidence(finding, fmt::format("such copies per {}", view.unit), calls, "count", largest->example_call);
    if (largest->work.bytes)
      add_evidence(finding, fmt::format("bytes that the costliest moves, {}", short_dims(input.store, *largest)),
                   *largest->work.bytes, "bytes");
    add_place(finding, input, *largest);
    finding.action = of_reordering();
    set_kernel_gain(finding, view, {0, cost / 2, cost});
    add_doubts(finding, view);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

RuleDescriptor layout_copies_rule() {
  RuleDescriptor rule;
  rule.id = "layout_copies";
  rule.title = "Kernels that only rearrange tensors";
  rule.title_zh = "只做布局转换的核函数";
  rule.meaning =
      "Convolution libraries want channels last and get channels first, so that each call rearranges its tensors "
      "before and "
      "after; or the program copies tensors only to reorder their dimensions.";
  rule.meaning_zh =
      "卷积库需要通道在后（channels_"
      "last），得到的却是通道在前，于是每次调用前后都要转换布局；或者程序仅为调整维度次序而拷贝张量。";
  rule.how_we_know =
      "Time of kernels whose names say that they change the layout (nchwToNhwc and kin), and of copies whose recorded "
      "strides "
      "order the dimensions of source and target differently.";
  rule.how_we_know_zh = "统计名称表明转换布局的核函数（nchwToNhwc 等）的时间，以及源与目标的步长次序不同的拷贝的时间。";
  rule.what_to_do =
      "Put model and inputs into torch.channels_last; drop contiguous() where the next op takes strided tensors.";
  rule.what_to_do_zh = "把模型和输入设为 torch.channels_last；若后续算子支持跨步张量，则去掉 contiguous()。";
  rule.when_wrong =
      "When the host sets the pace the step does not become shorter; the finding then states a bound and no expected "
      "step. Some "
      "models have ops without a channels_last kernel.";
  rule.when_wrong_zh =
      "当主机决定节奏时步时不会缩短，此时只给出上限而不给出预期。有些模型含有没有 channels_last 核函数的算子。";
  rule.thresholds = {
      {"finding", kFindingShare, "share of the undisturbed step", "less is not worth a change"},
      {"warning", kWarningShare, "share of the undisturbed step", "below it the repair costs more than it brings"},
      kReordering};
  rule.needs = {"efficiency", "step_segmentation", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel
