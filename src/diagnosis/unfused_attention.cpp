// Attention as separate kernels that pass the matrix of scores through memory.
#include <fmt/format.h>

#include <algorithm>

#include "diagnosis/attention_chains.h"
#include "diagnosis/device_work.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/rule.h"
#include "diagnosis/source_location.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

// Share of the 16-bit peak that fused attention reaches: published figures are 35 to 75 % for long sequences, 20 to 25
// % for short ones or small heads. Half the work is left out under a causal mask, which not every mask is.
constexpr ReachedShare kFused16{0.20, 0.40, 0.70, false};
// In fp32 the fused kernels build each product from three in TF32, and are not tuned.
constexpr ReachedShare kFused32{0.05, 0.10, 0.20, false};
constexpr double kCausal = 0.5;
constexpr double kPerhapsCausal = 0.6;
// Without shapes: time of fused kernels over that of the batched products alone.
constexpr ReachedShare kOverProducts{2.5, 1.5, 0.8, false};

struct FusedTime {
  double best_ns = 0, expected_ns = 0, worst_ns = 0;
};

FusedTime fused_time(const AttentionChains& chains, const DevicePeaks* peaks) {
  const bool wide = chains.type == TensorType::f32;
  const ReachedShare& part = wide ? kFused32 : kFused16;
  const double peak = peaks != nullptr ? peaks->matrix(chains.type, true) : 0;
  if (chains.fused_flops <= 0 || peak <= 0) {
    return {chains.product_ns * kOverProducts.best, chains.product_ns * kOverProducts.expected,
            chains.product_ns * kOverProducts.worst};
  }
  const double at_peak = chains.fused_flops / peak / 1e3;
  return {at_peak * (chains.masked ? kCausal : 1) / part.best,
          at_peak * (chains.masked ? kPerhapsCausal : 1) / part.expected, at_peak / part.worst};
}

Action action_for(const AttentionChains& chains) {
  Action action;
  action.title = "Use torch.nn.functional.scaled_dot_product_attention";
  action.detail =
      "One fused kernel does what the products, the softmax and everything between them do, and the matrix of scores "
      "is "
      "never written to memory.";
  action.command = fmt::format(
      "# q, k, v: [batch, heads, length, width]; scaling by 1/sqrt(width) is included\n"
      "out = torch.nn.functional.scaled_dot_product_attention(q, k, v{})\n",
      chains.masked ? ", is_causal=True)  # or attn_mask=mask for another mask" : "");
  if (chains.masked) action.command.replace(action.command.rfind(")\n"), 2, "\n");
  action.side_effects =
      "sums are done in another order: results differ in the last digits; far less memory for activations";
  action.not_when =
      "the attention weights themselves are needed, or scores are changed in a way that no mask can express "
      "(then torch.nn.attention.flex_attention)";
  return action;
}

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding>) {
  const StepView& view = input.facts.view;
  const DeviceEfficiency* device = verdict_device(input);
  if (device == nullptr || device->steps <= 0) return {};
  const AttentionChains chains = find_attention_chains(input);
  if (chains.forward_count <= 0) return {};
  const double share = compute_share(view, *device);
  const FusedTime fused = fused_time(chains, device->peaks);
  const double copy_ns = std::min(chains.copy_ns, view.undisturbed.memory_exposed_ns);
  const auto saved = [&](double fused_ns) { return std::max(0.0, chains.ns - fused_ns) * share + copy_ns; };
  const KernelSaving saving{saved(fused.worst_ns), saved(fused.expected_ns), saved(fused.best_ns)};
  if (view.share(saving.expected_ns) < kFindingShare) return {};

  Finding finding = new_finding(view, "unfused_attention", saving.expected_ns);
  finding.title =
      fmt::format("Attention written out as separate kernels takes {} {} ({})", ms_text(chains.ns * share + copy_ns),
                  view.a_unit, percent_text(view.share(chains.ns * share + copy_ns)));
  add_evidence(finding,
               fmt::format("kernels from the product of queries and keys to that with the values, per {}", view.unit),
               chains.ns / 1e6, "ms", chains.example);
  if (copy_ns > 0) add_evidence(finding, "copies on the device between them", copy_ns / 1e6, "ms");
  add_evidence(finding, "of the kernels, the batched products themselves", chains.product_ns / 1e6, "ms",
               chains.product);
  add_evidence(finding, fmt::format("attention layers run forward, per {}", view.unit), chains.forward_count, "count");
  add_evidence(finding, fmt::format("and backward, per {}", view.unit), chains.backward_count, "count");
  add_evidence(finding, fmt::format("kernels of one such layer"),
               chains.kernels / (chains.forward_count + chains.backward_count), "count");
  if (chains.score_bytes > 0)
    add_evidence(finding, "one matrix of scores, written and read each time", chains.score_bytes, "bytes");
  if (chains.fused_flops > 0) add_evidence(finding, "fused kernels would take", fused.expected_ns / 1e6, "ms");
  for (const SliceId place : {chains.softmax, chains.product}) {
    if (!place.valid()) continue;
    finding.where.push_back(locate(input.store, place));
    finding.where.back().device = view.device;
  }
  Location kernel;
  kernel.kind = "kernel";
  kernel.name = std::string(input.store.text(input.store.device_events.name[chains.example.value]));
  kernel.device = view.device;
  finding.where.push_back(std::move(kernel));
  finding.action = action_for(chains);
  set_kernel_gain(finding, view, saving);
  finding.claim.copy_ns = copy_ns;
  finding.claim.compute_ns = std::max(0.0, finding.claim.compute_ns - copy_ns);
  add_doubts(finding, view);
  return {finding};
}

}  // namespace

RuleDescriptor unfused_attention_rule() {
  RuleDescriptor rule;
  rule.id = "unfused_attention";
  rule.title = "Attention as separate kernels";
  rule.title_zh = "注意力未融合";
  rule.meaning =
      "Queries times keys, scaling, mask, softmax and the product with the values run as separate kernels. The matrix "
      "of "
      "scores, length by length for every head, goes through memory at each of them.";
  rule.meaning_zh =
      "查询乘键、缩放、掩码、softmax 与乘值各自为独立核函数，每一步都要把“长度×长度”的得分矩阵写入并读出显存。";
  rule.how_we_know =
      "The order of the kernels on the device: a batched product, a softmax at most 16 kernels later, a batched "
      "product at "
      "most 16 after that, and no dense layer between them; in the backward pass likewise. No name of a model or "
      "module is "
      "used.";
  rule.how_we_know_zh =
      "依据设备上核函数的次序：批量矩阵乘、其后 16 个核函数内的 softmax、再后 16 "
      "个核函数内的批量矩阵乘，中间没有稠密层；反向同理。不依赖模型或模块名称。";
  rule.what_to_do =
      "Call torch.nn.functional.scaled_dot_product_attention, or set the model's attention implementation to sdpa.";
  rule.what_to_do_zh = "调用 torch.nn.functional.scaled_dot_product_attention，或把模型的注意力实现设为 sdpa。";
  rule.when_wrong =
      "When batched products around a softmax are no attention (mixtures, pooling). The time of the fused kernels is a "
      "model "
      "from the work to do and the share of the peak that such kernels are known to reach.";
  rule.when_wrong_zh =
      "当 softmax 前后的批量矩阵乘并非注意力（混合、池化）时。融合核函数的时间由工作量与此类核函数已知的峰值占比估算。";
  rule.thresholds = {
      {"finding", kFindingShare, "share of the undisturbed step", "less is not worth a change"},
      {"warning", kWarningShare, "share of the undisturbed step", "below it the repair costs more than it brings"},
      {"distance", 16, "kernels", "scale, mask, casts, dropout and copies of each stand between product and softmax"}};
  rule.needs = {"efficiency", "step_segmentation", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel
