// Kernels far from what the device can do, for no reason that another rule names.
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

constexpr Threshold kLow{
    "low", 0.10, "share of the roof",
    "ordinary kernels reach 30 to 90 %; least bytes and operations understate some work by a factor of two "
    "or three"};
constexpr Threshold kReached{"what a better kernel reaches", 0.30, "share of the roof",
                             "the lower end of ordinary kernels"};
constexpr Threshold kLongEnough{"shortest call", 50'000, "ns", "a short kernel is bound by its start and its tail"};
// Whether a better kernel exists is not in the capture.
constexpr double kChance = 0.5;
constexpr Threshold kWarning{"warning", 0.15, "share of the undisturbed step",
                             "replacing a kernel of a framework is work; it must be worth it"};

// Kernels that another finding is about are its business.
bool is_named(const DiagnosisInput& input, std::span<const Finding> earlier, const WorkGroup& group) {
  const std::string_view kernel = input.store.text(group.kernel);
  return std::any_of(earlier.begin(), earlier.end(), [&](const Finding& finding) {
    return std::any_of(finding.where.begin(), finding.where.end(),
                       [&](const Location& place) { return place.kind == "kernel" && place.name == kernel; });
  });
}

double compute_left(const StepView& view, std::span<const Finding> earlier) {
  double left = view.undisturbed.compute_ns;
  for (const Finding& finding : earlier) left -= finding.claim.compute_ns;
  return std::max(0.0, left);
}

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding> earlier) {
  const StepView& view = input.facts.view;
  const DeviceEfficiency* device = verdict_device(input);
  if (device == nullptr || device->steps <= 0) return {};
  const double share = compute_share(view, *device);
  std::vector<const WorkGroup*> groups;
  double taken = 0, saved = 0;
  for (const WorkGroup& group : device->groups) {
    if (group.ns_in_steps <= 0 || group.communication || !group.roofline.roof_share) continue;
    if (*group.roofline.roof_share >= kLow.value || group.ns_per_call() < kLongEnough.value) continue;
    if (is_named(input, earlier, group)) continue;
    const double ns = ns_per_step(*device, group) * share;
    taken += ns;
    saved += kChance * ns * (1 - *group.roofline.roof_share / kReached.value);
    groups.push_back(&group);
  }
  saved = std::min(saved, compute_left(view, earlier));
  if (groups.empty() || view.share(saved) < kWarningShare) return {};

  const WorkGroup& largest = *groups.front();
  const std::string kernel = short_kernel_name(input.store.text(largest.kernel));
  Finding finding = new_finding(view, "low_kernel_efficiency", saved);
  finding.severity = std::min(finding.severity, FindingSeverity::warning);
  if (finding.share_of_step < kWarning.value) finding.severity = FindingSeverity::info;
  finding.title = fmt::format("Kernels below {} of the device's roof take {} {} ({})", percent_text(kLow.value),
                              ms_text(taken), view.a_unit, percent_text(view.share(taken)));
  add_evidence(finding, fmt::format("such kernels per {}", view.unit), taken / 1e6, "ms", largest.example);
  add_evidence(finding,
               fmt::format("share of the roof of the costliest, {} at {} ({})", short_name(kernel),
                           short_dims(input.store, largest), short_type_name(largest.work.type)),
               100 * *largest.roofline.roof_share, "%", largest.example_call);
  if (largest.fill) {
    add_evidence(finding, "multiprocessors with work while it runs, at most", 100 * largest.fill->multiprocessor_share,
                 "%");
    add_evidence(finding, fmt::format("its occupancy, at most (limited by {})", to_string(largest.fill->limit)),
                 100 * largest.fill->occupancy, "%");
  }
  for (const WorkGroup* group : groups) add_place(finding, input, *group);
  const bool convolutional = largest.work.kind == WorkKind::normalisation && largest.args.valid() &&
                             read_inputs(input.store, largest.args).inputs.front().shape.size() == 4;
  finding.action.title =
      convolutional ? "Normalise in channels_last" : fmt::format("Replace the kernel {}", short_name(kernel));
  finding.action.detail = convolutional ? "With channels first, a batch normalisation runs one block per channel, "
                                          "which few channels cannot spread over the "
                                          "device; in channels_last its kernels read whole rows."
                                        : "Hardware counters tell what holds it up: too few blocks, scattered reads, "
                                          "conflicts. torch.compile often generates "
                                          "a better one for ops of this kind.";
  finding.action.command = convolutional ? "model = model.to(memory_format=torch.channels_last)\n"
                                           "images = images.to(memory_format=torch.channels_last)\n"
                                         : "model = torch.compile(model)\n";
  finding.action.side_effects = convolutional ? "results differ in the last digits"
                                              : "the first steps compile; results differ in the last digits";
  finding.action.not_when = "the kernel does more work than its op's shapes show";
  finding.claim.compute_ns = saved;
  set_gain_bound(finding, view, saved / kChance);
  add_doubts(finding, view);
  return {finding};
}

}  // namespace

RuleDescriptor low_kernel_efficiency_rule() {
  RuleDescriptor rule;
  rule.id = "low_kernel_efficiency";
  rule.title = "Kernels far from the roof";
  rule.title_zh = "核函数效率过低";
  rule.meaning =
      "Kernels take many times longer than arithmetic and memory of the device need for their work, and no other rule "
      "says why.";
  rule.meaning_zh = "核函数耗时远多于设备算力与带宽完成其工作所需的时间，且其他规则没有给出原因。";
  rule.how_we_know =
      "Operations and least bytes of the op from its recorded shapes and types, against its kernels' time and the "
      "device's "
      "published peaks. Kernels shorter than 50 us and those that other findings name are left out.";
  rule.how_we_know_zh =
      "由记录的形状与类型算出运算量与最少字节，与核函数时间和设备公布峰值对比。短于 50 "
      "微秒的以及其他发现已指出的核函数不计。";
  rule.what_to_do =
      "Use another implementation: channels_last, torch.compile, a fused op; or look at its hardware counters.";
  rule.what_to_do_zh = "换用其他实现：channels_last、torch.compile、融合算子；或查看其硬件计数器。";
  rule.when_wrong =
      "When the op does more than its shapes show (sparse or data-dependent work). No expected step is stated.";
  rule.when_wrong_zh = "当算子的实际工作多于形状所示（稀疏或与数据有关）时。不给出预期步时。";
  rule.thresholds = {kLow,
                     kReached,
                     kLongEnough,
                     kWarning,
                     {"finding", kWarningShare, "share of the undisturbed step", "less is not worth a look"}};
  rule.needs = {"efficiency", "time_breakdown"};
  rule.generic = true;
  rule.run = run;
  return rule;
}

}  // namespace accel
