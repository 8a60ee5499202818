// Matrix products in full fp32 on a device that has much faster units for them.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/kernel_table.h"
#include "diagnosis/device_work.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/rule.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

constexpr Threshold kFasterUnit{"faster unit", 1.5, "times the fp32 peak",
                                "with less the change of precision is not worth its risk"};
// Share of the fp32 peak that plain fp32 kernels of vendor libraries reach; used where shapes are not recorded.
constexpr double kPlainReached = 0.75;
constexpr Threshold kLongEnough{"shortest kernel", 20'000, "ns",
                                "shorter products are bound by their start and by latency, not by arithmetic"};
constexpr Threshold kByName{"warning without shapes", 0.10, "share of the undisturbed step",
                            "what a kernel computes is then known from its name alone, and may be no product"};
constexpr double kMiddle = 0.5;  // expected saving between those of TF32 and of 16 bits

bool is_plain_fp32(const WorkGroup& group) {
  if (group.communication || group.tensor_core || group.work.type != TensorType::f32) return false;
  return group.work.kind == WorkKind::matmul || group.work.kind == WorkKind::convolution;
}

// A kernel of a matrix library without an op that says so: graph replays, captures without shapes.
bool is_plain_by_name(std::string_view name) {
  constexpr std::string_view kSigns[] = {"sgemm", "simt_sgemm", "_ffma", "ffma_"};
  return std::any_of(std::begin(kSigns), std::end(kSigns),
                     [&](std::string_view sign) { return name.find(sign) != std::string_view::npos; });
}

bool counts_as_healthy(const WorkGroup& group) { return group.work.type != TensorType::f32; }

struct Cost {
  double ns = 0;             // of the fp32 products
  double at_peak_ns = 0;     // their time at the fp32 peak
  double arithmetic_ns = 0;  // part of ns that arithmetic takes; the rest no faster unit shortens
  double flops = 0;
  double attention_ns = 0;  // fused attention in fp32, which autocast would make 16-bit as well
  double by_name_ns = 0;    // of ns, kernels without recorded shapes
  std::vector<const WorkGroup*> groups;
};

Cost measure(const DiagnosisInput& input, const DeviceEfficiency& device) {
  Cost cost;
  for (const WorkGroup& group : device.groups) {
    if (group.ns_in_steps <= 0) continue;
    const double ns = ns_per_step(device, group);
    if (group.work.kind == WorkKind::attention && group.work.type == TensorType::f32) cost.attention_ns += ns;
    const bool unnamed = group.work.kind == WorkKind::none && !group.tensor_core && !group.communication &&
                         is_plain_by_name(input.store.text(group.kernel));
    if (!is_plain_fp32(group) && !unnamed) continue;
    if (group.ns_per_call() < kLongEnough.value) continue;
    cost.ns += ns;
    if (!group.work.flops) cost.by_name_ns += ns;
    const double calls = static_cast<double>(group.calls_in_steps) / device.steps;
    const double known = group.work.flops ? calls * *group.work.flops / device.peaks->fp32 / 1e3 : 0;
    // A product bound by memory gains nothing from faster arithmetic.
    const double at_peak = known > 0 ? std::min(known, ns) : kPlainReached * ns;
    cost.at_peak_ns += at_peak;
    cost.arithmetic_ns += std::min(ns, at_peak / kPlainReached);
    if (group.work.flops) cost.flops += calls * *group.work.flops;
    cost.groups.push_back(&group);
  }
  return cost;
}

Action action_for(const DevicePeaks& peaks) {
  Action action;
  const bool tf32 = peaks.tf32 > kFasterUnit.value * peaks.fp32;
  const std::string_view half = peaks.bf16 > 0 ? "torch.bfloat16" : "torch.float16";
  action.title = tf32 ? "Let matrix products use TF32, or run the model under bf16 autocast"
                      : fmt::format("Run the model under {} autocast", peaks.bf16 > 0 ? "bf16" : "fp16");
  action.detail = fmt::format(
      "The device does fp32 products at {:.0f} TFLOP/s at most{}, and {:.0f} TFLOP/s in 16 bits.", peaks.fp32,
      tf32 ? fmt::format(", {:.0f} with TF32 inputs", peaks.tf32) : std::string(), std::max(peaks.bf16, peaks.fp16));
  if (tf32) {
    action.command =
        "torch.set_float32_matmul_precision(\"high\")\n"
        "torch.backends.cudnn.allow_tf32 = True\n"
        "\n"
        "# or, faster still, around forward and loss:\n";
  }
  action.command += fmt::format(
      "with torch.autocast(device_type=\"cuda\", dtype={}):\n"
      "    loss = loss_fn(model(inputs), targets)\n",
      half);
  action.side_effects =
      tf32 ? "TF32 rounds the inputs of products to 10 bits of mantissa (sums stay fp32); 16 bits change results "
             "further: "
             "compare the loss curve"
           : "results change in the third digit; fp16 needs torch.amp.GradScaler: compare the loss curve";
  action.not_when = "the job needs full fp32 products: solvers, physics, products of large sums that cancel";
  return action;
}

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding>) {
  const StepView& view = input.facts.view;
  const DeviceEfficiency* device = verdict_device(input);
  if (device == nullptr || device->peaks == nullptr || device->steps <= 0) return {};
  const DevicePeaks& peaks = *device->peaks;
  const double half = std::max(peaks.bf16, peaks.fp16);
  if (std::max(peaks.tf32, half) < kFasterUnit.value * peaks.fp32) return {};
  const Cost cost = measure(input, *device);
  const double share = compute_share(view, *device);
  const ReachedShare reached = reached_by_matmuls(*device, counts_as_healthy);
  const double tf32 = peaks.tf32 > kFasterUnit.value * peaks.fp32 ? peaks.tf32 : half;
  // Time of the same products at the peak of a faster unit.
  const auto faster_ns = [&](double peak, double part) { return cost.at_peak_ns * peaks.fp32 / peak / part; };
  const auto saved = [&](double after_ns) { return std::max(0.0, cost.arithmetic_ns - after_ns) * share; };
  // Half the bytes and twice the rate for fused attention that autocast reaches as well.
  const double attention_ns = cost.attention_ns * share / 2;
  KernelSaving saving;
  saving.least_ns = saved(faster_ns(tf32, reached.worst));
  saving.most_ns = saved(faster_ns(std::max(tf32, half), reached.best)) + 1.6 * attention_ns;
  const double with_tf32 = saved(faster_ns(tf32, reached.expected));
  const double with_half = saved(faster_ns(std::max(tf32, half), reached.expected)) + attention_ns;
  saving.expected_ns = with_tf32 + kMiddle * (with_half - with_tf32);
  if (view.share(saving.expected_ns) < kFindingShare || cost.ns <= 0) return {};

  Finding finding = new_finding(view, "fp32_matmul", saving.expected_ns);
  if (cost.by_name_ns > cost.ns / 2 && finding.share_of_step < kByName.value) finding.severity = FindingSeverity::info;
  finding.title =
      fmt::format("Matrix products in full fp32 take {} {} ({}); faster units of the {} stand idle",
                  ms_text(cost.ns * share), view.a_unit, percent_text(view.share(cost.ns * share)), peaks.product);
  const WorkGroup& largest = *cost.groups.front();
  add_evidence(finding,
               fmt::format("kernels of fp32 matrix products and convolutions without tensor cores, per {}", view.unit),
               cost.ns / 1e6, "ms", largest.example);
  if (cost.flops > 0) add_evidence(finding, "what they achieve", cost.flops / cost.ns / 1e3, "TFLOP/s");
  add_evidence(finding, "peak of the device in fp32", peaks.fp32, "TFLOP/s");
  if (peaks.tf32 > 0) add_evidence(finding, "peak in TF32, dense", peaks.tf32, "TFLOP/s");
  add_evidence(finding, "peak in 16 bits, dense", half, "TFLOP/s");
  add_evidence(finding,
               reached.learnt ? "share of the peak that other matrix products of this capture reach"
                              : "share of the peak that matrix products usually reach",
               100 * reached.expected, "%");
  for (const WorkGroup* group : cost.groups) {
    if (finding.where.size() >= 6) break;
    add_place(finding, input, *group);
  }
  finding.action = action_for(peaks);
  set_kernel_gain(finding, view, saving);
  if (device_surely_paces(view)) {
    std::vector<std::string> names;
    for (const WorkGroup* group : cost.groups) {
      const std::string name(input.store.text(group->kernel));
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    const auto left = [&](double saved_ns) { return std::clamp(1 - saved_ns / (cost.ns * share), 0.0, 1.0); };
    finding.remedies = {
        scale(std::move(names), {left(saving.expected_ns), left(saving.most_ns), left(saving.least_ns)})};
  }
  add_doubts(finding, view);
  return {finding};
}

}  // namespace

RuleDescriptor fp32_matmul_rule() {
  RuleDescriptor rule;
  rule.id = "fp32_matmul";
  rule.title = "Matrix products in full fp32";
  rule.title_zh = "矩阵乘使用完整 fp32 精度";
  rule.meaning =
      "Matrix products and convolutions run on the plain fp32 units, while the device has matrix units that do them "
      "many "
      "times faster in TF32 or 16 bits.";
  rule.meaning_zh = "矩阵乘和卷积运行在普通 fp32 单元上，而设备的矩阵单元用 TF32 或 16 位可快许多倍。";
  rule.how_we_know =
      "Kernels of fp32 products whose names say that they use no tensor cores (simt, sgemm, ffma), their time in "
      "complete "
      "steps, and the published peaks of the device.";
  rule.how_we_know_zh =
      "依据完整步内名称表明未使用张量核心的 fp32 核函数（simt、sgemm、ffma）的时间，以及设备公布的峰值。";
  rule.what_to_do = "Allow TF32 with torch.set_float32_matmul_precision(\"high\"), or use autocast.";
  rule.what_to_do_zh = "用 torch.set_float32_matmul_precision(\"high\") 启用 TF32，或使用 autocast。";
  rule.when_wrong =
      "When the numbers need full fp32: then the time is what that precision costs. The gain is a model: the share of "
      "the "
      "peak that the new kernels reach is that of other products of the capture, or a usual one.";
  rule.when_wrong_zh =
      "当数值确实需要完整 fp32 "
      "时，这就是该精度的代价。收益为模型估算：新核函数能达到的峰值比例取自本次采集的其他矩阵乘，或取常见值。";
  rule.thresholds = {
      {"finding", kFindingShare, "share of the undisturbed step", "less is not worth a change of precision"},
      {"warning", kWarningShare, "share of the undisturbed step", "below it the repair costs more than it brings"},
      kFasterUnit,
      kLongEnough,
      kByName};
  rule.needs = {"efficiency", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel
