// Convolutions that run in kernels far below what the device can do, where the library could choose better ones.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "base/ascii.h"
#include "diagnosis/device_work.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/rule.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

constexpr Threshold kSlow{"slow", 0.10, "share of the roof",
                          "convolutions of ordinary shapes reach 20 to 60 %; below this a general kernel runs"};
constexpr Threshold kReached{"what a chosen kernel reaches", 0.25, "share of the roof",
                             "the lower end of what convolutions of ordinary shapes reach: gains are not overstated"};
constexpr Threshold kLongEnough{"shortest call", 30'000, "ns", "a short call is bound by its launch and its start"};
constexpr Threshold kWarning{
    "warning", 0.05, "share of the undisturbed step",
    "the library may have no better kernel for the shape: a small chance is not worth a warning"};

constexpr Threshold kChannels{"fewest channels", 8, "input channels of a filter",
                              "with fewer, matrix units have nothing to multiply and no kernel is fast"};

// Kernels of general algorithms without tensor cores, although the types have them.
bool is_general_kernel(std::string_view name) {
  const std::string text = ascii_lower(name.substr(0, 300));
  constexpr std::string_view kSigns[] = {"implicit_convolve", "explicit_convolve", "im2col",    "vol2col",
                                         "slow_conv",         "conv_depthwise",    "naive_conv"};
  return std::any_of(std::begin(kSigns), std::end(kSigns),
                     [&](std::string_view sign) { return text.find(sign) != std::string::npos; });
}

// Time of one call without the kernels that only rearrange its tensors: those are another rule's (layout_copies).
double computing_ns(const WorkGroup& group) {
  return std::max(0.0, group.device_ns - group.layout_ns) /
         static_cast<double>(std::max<std::uint64_t>(1, group.calls));
}

double roof_share(const WorkGroup& group) {
  const double ns = computing_ns(group);
  return ns > 0 ? std::min(1.0, group.roofline.roof_ns / ns) : 1;
}

// The first layer of an image model, and depthwise filters.
bool few_channels(const DiagnosisInput& input, const WorkGroup& group) {
  if (!group.args.valid()) return false;
  const OpInputs inputs = read_inputs(input.store, group.args);
  const bool backward = input.store.text(group.op).find("backward") != std::string_view::npos;
  const OpInput* weight = inputs.tensor(backward ? 2 : 1);
  return weight != nullptr && weight->shape.size() > 1 && static_cast<double>(weight->shape[1]) < kChannels.value;
}

bool is_slow(const DiagnosisInput& input, const WorkGroup& group) {
  if (group.work.kind != WorkKind::convolution || group.ns_in_steps <= 0) return false;
  if (computing_ns(group) < kLongEnough.value || few_channels(input, group)) return false;
  if (group.roofline.roof_share) return roof_share(group) < kSlow.value;
  return !group.tensor_core && is_general_kernel(input.store.text(group.kernel));
}

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding>) {
  const StepView& view = input.facts.view;
  const DeviceEfficiency* device = verdict_device(input);
  if (device == nullptr || device->steps <= 0) return {};
  const double share = compute_share(view, *device);
  std::vector<const WorkGroup*> groups;
  double taken = 0, saved = 0, all = 0;
  for (const WorkGroup& group : device->groups) {
    if (group.work.kind == WorkKind::convolution) all += ns_per_step(*device, group) * share;
    if (!is_slow(input, group)) continue;
    const double ns = computing_ns(group) * static_cast<double>(group.calls_in_steps) / device->steps * share;
    taken += ns;
    saved += group.roofline.roof_share ? ns * (1 - roof_share(group) / kReached.value) : ns / 2;
    groups.push_back(&group);
  }
  if (groups.empty() || view.share(saved) < kFindingShare) return {};

  const WorkGroup& largest = *groups.front();
  Finding finding = new_finding(view, "conv_algorithm", saved);
  if (finding.share_of_step < kWarning.value) finding.severity = FindingSeverity::info;
  finding.title = fmt::format("Convolutions in slow kernels take {} {} ({})", ms_text(taken), view.a_unit,
                              percent_text(view.share(taken)));
  add_evidence(finding, fmt::format("convolutions below {} of the roof, per {}", percent_text(kSlow.value), view.unit),
               taken / 1e6, "ms", largest.example);
  add_evidence(finding, fmt::format("all convolutions per {}", view.unit), all / 1e6, "ms");
  if (largest.roofline.roof_share)
    add_evidence(finding,
                 fmt::format("share of the roof at {} ({})", short_dims(input.store, largest),
                             short_type_name(largest.work.type)),
                 100 * roof_share(largest), "%", largest.example_call);
  if (largest.roofline.tflops) add_evidence(finding, "what it achieves", *largest.roofline.tflops, "TFLOP/s");
  add_evidence(finding, "time at a quarter of the roof", (taken - saved) / 1e6, "ms");
  for (const WorkGroup* group : groups) add_place(finding, input, *group);
  finding.action.title = "Let cuDNN measure its kernels for these shapes (cudnn.benchmark)";
  finding.action.detail =
      "By default cuDNN chooses an algorithm by rules of thumb; with benchmark mode it tries those it has once for "
      "every "
      "shape and keeps the fastest. Tensors in channels_last and 16 bits give it more to choose from.";
  finding.action.command =
      "torch.backends.cudnn.benchmark = True  # before the first step\n"
      "\n"
      "model = model.to(memory_format=torch.channels_last)\n";
  finding.action.side_effects =
      "the first step of every new shape takes long; algorithms may differ between runs, so results are not "
      "reproducible bit "
      "by bit";
  finding.action.not_when = "shapes change all the time, or the host sets the pace of the step";
  // Whether the library has a better kernel is not in the capture: a bound, no expectation.
  finding.claim.compute_ns = saved;
  set_gain_bound(finding, view, saved);
  add_doubts(finding, view);
  return {finding};
}

}  // namespace

RuleDescriptor conv_algorithm_rule() {
  RuleDescriptor rule;
  rule.id = "conv_algorithm";
  rule.title = "Convolutions in slow kernels";
  rule.title_zh = "卷积算法过慢";
  rule.meaning =
      "Convolutions run far below what arithmetic and memory of the device allow. The library chose a general kernel "
      "by rules of "
      "thumb, or the layout and type leave it no fast one.";
  rule.meaning_zh =
      "卷积的速度远低于设备算力与带宽所允许的水平：库按经验规则选了通用核函数，或者布局与精度使其没有更快的可选。";
  rule.how_we_know =
      "Operations and least bytes of every convolution from its recorded shapes, strides and padding, against the time "
      "of its "
      "kernels and the published peaks; or, without shapes, the name of a general algorithm.";
  rule.how_we_know_zh =
      "依据记录的形状、步长和填充算出每个卷积的运算量与最少字节，与其核函数时间和公布峰值对比；没有形状时依据通用算法的"
      "核函数名。";
  rule.what_to_do = "Set torch.backends.cudnn.benchmark = True, use channels_last and 16 bits.";
  rule.what_to_do_zh = "设置 torch.backends.cudnn.benchmark = True，使用 channels_last 和 16 位精度。";
  rule.when_wrong =
      "When the shape has no better kernel: few channels, depthwise, very small images. Therefore no expected step is "
      "stated, "
      "only what it could be at most.";
  rule.when_wrong_zh = "当该形状没有更好的核函数时（通道少、深度卷积、图像很小）。因此只给出上限，不给出预期步时。";
  rule.thresholds = {{"finding", kFindingShare, "share of the undisturbed step", "less is not worth a change"},
                     kWarning,
                     kSlow,
                     kReached,
                     kLongEnough,
                     kChannels};
  rule.needs = {"efficiency", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel
