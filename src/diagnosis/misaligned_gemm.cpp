// Matrix products whose dimensions do not fit the matrix units, so that a slow kernel runs.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/efficiency/kernel_kinds.h"
#include "diagnosis/device_work.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/rule.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

constexpr Threshold kAlignment{"alignment", 16, "bytes",
                               "matrix units load 16 bytes at a time; rows that start elsewhere need narrower kernels"};
constexpr Threshold kSlow{"slow", 0.70, "of the share of the peak that aligned products reach",
                          "kernels for odd sizes that come near the others cost nothing worth padding for"};
constexpr Threshold kLongEnough{"shortest call", 20'000, "ns",
                                "shorter products are bound by their start and by latency, whatever their sizes"};
constexpr std::int64_t kPadTo = 64;  // a tile's width: keeps kernels free to choose
constexpr std::int64_t kSmall = 64;  // below it a dimension is a choice of the model, and no kernel is fast

// Elements of a row that 16 bytes hold.
std::int64_t unit_of(TensorType type) {
  const int bytes = bytes_of(type);
  return bytes > 0 ? std::max<std::int64_t>(1, static_cast<std::int64_t>(kAlignment.value) / bytes) : 1;
}

bool is_odd(double size, std::int64_t unit) {
  const auto whole = static_cast<std::int64_t>(size);
  return whole >= kSmall && whole % unit != 0;
}

// Distance of neighbouring rows, in elements, of a matrix operand; by its recorded strides where there are any.
bool rows_are_odd(const OpInput& input, std::int64_t unit) {
  if (input.shape.size() < 2) return false;
  const std::int64_t rows = input.shape[input.shape.size() - 2], columns = input.shape.back();
  if (rows < kSmall && columns < kSmall) return false;
  if (input.strides.size() == input.shape.size()) {
    const std::int64_t a = input.strides[input.strides.size() - 2], b = input.strides.back();
    const std::int64_t pitch = b == 1 ? a : a == 1 ? b : 0;
    return pitch > 1 && pitch % unit != 0;
  }
  return columns % unit != 0;
}

bool is_misaligned(const DiagnosisInput& input, const WorkGroup& group) {
  if (group.work.kind != WorkKind::matmul || !group.work.flops || group.communication || !group.args.valid())
    return false;
  // Plain fp32 kernels do not care, and have a rule of their own.
  if (!is_floating(group.work.type) || group.work.type == TensorType::f64) return false;
  if (group.work.type == TensorType::f32 && !group.tensor_core) return false;
  const std::int64_t unit = unit_of(group.work.type);
  const bool odd_size = is_odd(group.work.m, unit) || is_odd(group.work.n, unit) || is_odd(group.work.k, unit);
  if (!odd_size) return false;
  const int built_for = stated_alignment(input.store.text(group.kernel));
  if (built_for > 0) return built_for < unit;
  const OpInputs inputs = read_inputs(input.store, group.args);
  return std::any_of(inputs.inputs.begin(), inputs.inputs.end(),
                     [&](const OpInput& one) { return one.is_tensor() && rows_are_odd(one, unit); }) ||
         is_odd(group.work.n, unit);
}

bool counts_as_healthy(const WorkGroup& group) {
  const std::int64_t unit = unit_of(group.work.type);
  return !is_odd(group.work.m, unit) && !is_odd(group.work.n, unit) && !is_odd(group.work.k, unit);
}

std::int64_t padded(std::int64_t size) { return (size + kPadTo - 1) / kPadTo * kPadTo; }

// Odd sizes by how much time the products that hold them take, the costliest first.
std::vector<std::int64_t> odd_sizes(const std::vector<const WorkGroup*>& groups) {
  std::map<std::int64_t, double> time;
  for (const WorkGroup* group : groups) {
    for (const double size : {group->work.m, group->work.n, group->work.k}) {
      if (is_odd(size, unit_of(group->work.type))) time[static_cast<std::int64_t>(size)] += group->ns_in_steps;
    }
  }
  std::vector<std::pair<std::int64_t, double>> sorted(time.begin(), time.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::int64_t> sizes;
  for (const auto& [size, ns] : sorted) sizes.push_back(size);
  if (sizes.size() > 3) sizes.resize(3);
  return sizes;
}

Action action_for(const std::vector<std::int64_t>& sizes) {
  Action action;
  std::string change;
  for (const std::int64_t size : sizes)
    change += fmt::format("{}{} to {}", change.empty() ? "" : ", ", size, padded(size));
  action.title = fmt::format("Pad dimensions of matrix products: {}", change);
  action.detail = fmt::format(
      "Rows of 16-bit matrices must be multiples of 8 elements (16 bytes) for the fast kernels; multiples of {} leave "
      "them "
      "the choice of tile. Pad weights (hidden size, vocabulary) once, batches and sequences when they are collated.",
      kPadTo);
  if (!sizes.empty()) {
    action.command = fmt::format(
        "SIZE = {}                      # was {}\n"
        "layer = torch.nn.Linear(SIZE, SIZE)\n"
        "\n"
        "# an input that must keep its size:\n"
        "x = torch.nn.functional.pad(x, (0, {} - x.shape[-1]))\n",
        padded(sizes.front()), sizes.front(), padded(sizes.front()));
  }
  action.side_effects =
      "the padding takes memory and arithmetic (a few per mille at these sizes); checkpoints of the old size need "
      "their "
      "weights copied in; padded classes must be masked in the loss";
  action.not_when = "the dimension is fixed by something outside: then pad only the operands of the product";
  return action;
}

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding>) {
  const StepView& view = input.facts.view;
  const DeviceEfficiency* device = verdict_device(input);
  if (device == nullptr || device->peaks == nullptr || device->steps <= 0) return {};
  const double share = compute_share(view, *device);
  const ReachedShare reached = reached_by_matmuls(*device, counts_as_healthy);
  std::vector<const WorkGroup*> groups;
  double taken = 0, flops = 0;
  KernelSaving saving;
  for (const WorkGroup& group : device->groups) {
    if (group.ns_in_steps <= 0 || !group.roofline.roof_share || !is_misaligned(input, group)) continue;
    if (*group.roofline.roof_share > kSlow.value * reached.expected || group.ns_per_call() < kLongEnough.value)
      continue;
    const double ns = ns_per_step(*device, group) * share;
    const double at_roof = ns * *group.roofline.roof_share;
    taken += ns;
    flops += static_cast<double>(group.calls_in_steps) / device->steps * *group.work.flops;
    saving.least_ns += std::max(0.0, ns - at_roof / reached.worst);
    saving.expected_ns += std::max(0.0, ns - at_roof / reached.expected);
    saving.most_ns += std::max(0.0, ns - at_roof / reached.best);
    groups.push_back(&group);
  }
  if (groups.empty() || view.share(saving.expected_ns) < kFindingShare) return {};

  const WorkGroup& largest = *groups.front();
  const std::vector<std::int64_t> sizes = odd_sizes(groups);
  Finding finding = new_finding(view, "misaligned_gemm", saving.expected_ns);
  finding.title = fmt::format("Matrix products with odd sizes ({}) take {} {} ({}), at {} of the peak",
                              fmt::join(sizes, ", "), ms_text(taken), view.a_unit, percent_text(view.share(taken)),
                              percent_text(*largest.roofline.roof_share));
  add_evidence(
      finding,
      fmt::format("kernels of {} products of odd sizes, per {}", short_type_name(largest.work.type), view.unit),
      taken / 1e6, "ms", largest.example);
  add_evidence(finding, "what they achieve", flops / taken / 1e3, "TFLOP/s");
  add_evidence(finding, "peak of the device for that type, dense", device->peaks->matrix(largest.work.type, true),
               "TFLOP/s");
  add_evidence(finding, fmt::format("share of the roof at {}", short_dims(input.store, largest)),
               100 * *largest.roofline.roof_share, "%", largest.example_call);
  add_evidence(finding,
               reached.learnt ? "share that products of aligned sizes reach in this capture"
                              : "share that products of aligned sizes usually reach",
               100 * reached.expected, "%");
  const int built_for = stated_alignment(input.store.text(largest.kernel));
  if (built_for > 0) add_evidence(finding, "alignment that the kernel was built for, elements", built_for, "count");
  for (const WorkGroup* group : groups) add_place(finding, input, *group);
  finding.action = action_for(sizes);
  set_kernel_gain(finding, view, saving);
  if (device_surely_paces(view)) {
    std::vector<std::string> names;
    for (const WorkGroup* group : groups) {
      const std::string name(input.store.text(group->kernel));
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    const auto left = [&](double saved_ns) { return std::clamp(1 - saved_ns / taken, 0.0, 1.0); };
    finding.remedies = {
        scale(std::move(names), {left(saving.expected_ns), left(saving.most_ns), left(saving.least_ns)})};
  }
  add_doubts(finding, view);
  return {finding};
}

}  // namespace

RuleDescriptor misaligned_gemm_rule() {
  RuleDescriptor rule;
  rule.id = "misaligned_gemm";
  rule.title = "Matrix products of odd sizes";
  rule.title_zh = "矩阵乘的维度未对齐";
  rule.meaning =
      "A dimension of a matrix product is no multiple of what the matrix units load at once. The library falls back to "
      "kernels that load element by element and are several times slower.";
  rule.meaning_zh = "矩阵乘的某个维度不是矩阵单元一次加载量的整数倍，库只能退回到逐元素加载、慢数倍的核函数。";
  rule.how_we_know =
      "Recorded shapes and strides of products in 16 or 8 bits (or TF32) whose rows are no multiple of 16 bytes, the "
      "alignment that the kernel's name states, and a share of the roof well below that of aligned products.";
  rule.how_we_know_zh =
      "依据记录的形状与步长（行长不是 16 字节的倍数）、核函数名中的对齐方式，以及明显低于已对齐矩阵乘的屋顶线占比。";
  rule.what_to_do = "Pad the dimension that the finding names to the next multiple of 64 (at least 8 for 16 bits).";
  rule.what_to_do_zh = "把指出的维度补齐到 64 的倍数（16 位至少为 8 的倍数）。";
  rule.when_wrong =
      "When the product is slow for another reason as well (very small, or very thin). The gain supposes that the "
      "padded "
      "product reaches the share of the peak that others do.";
  rule.when_wrong_zh = "当该矩阵乘另有慢的原因（过小或过窄）时。收益假设补齐后的矩阵乘能达到其他矩阵乘的峰值比例。";
  rule.thresholds = {
      {"finding", kFindingShare, "share of the undisturbed step", "less is not worth a change of shapes"},
      {"warning", kWarningShare, "share of the undisturbed step", "below it the repair costs more than it brings"},
      kAlignment,
      kSlow,
      kLongEnough};
  rule.needs = {"efficiency", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel
