// The link between host and device runs below what device and slot can do: lanes are missing, or a generation too low
// while the device works.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "analysis/counter_values.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/rule.h"
#include "diagnosis/wording.h"
#include "fusion/topology/link_speed.h"

namespace accel {
namespace {

constexpr Threshold kSamples{"fewest samples", 1, "samples within the steps",
                             "an idle device lowers its generation: only what it ran at under load counts"};
constexpr Threshold kLinkBound{"bound by the link", 0.5, "share of the link's rate as it runs",
                               "copies that stay far below the link have another limit and would not become faster"};
constexpr Threshold kContradiction{"contradiction", 1.0, "times the link's rate as it runs",
                                   "a copy faster than the link is said to be proves the statement wrong"};

// What the recorder wrote of the link; keys of docs/formats/native.md.
std::optional<std::int32_t> stated(const TraceStore& store, const char* key) {
  const auto found = store.process.options.find(key);
  if (found == store.process.options.end()) return std::nullopt;
  std::int32_t value = 0;
  const char* const end = found->second.data() + found->second.size();
  const auto [rest, error] = std::from_chars(found->second.data(), end, value);
  if (error != std::errc() || rest != end || value < 1 || value > 64) return std::nullopt;
  return value;
}

// The highest of the samples within complete steps: what the link can reach shows under load.
std::optional<std::int32_t> sampled(const CounterValues& counters, const StepView& view, std::string_view name) {
  const CounterValues::Counter* counter = counters.find(name);
  if (counter == nullptr) return std::nullopt;
  std::optional<double> highest;
  std::uint64_t count = 0;
  const Interval steps{view.windows.front().start_ns, view.windows.back().end_ns};
  for (const auto& [time, value] : counter->samples) {
    if (time < steps.start_ns || time >= steps.end_ns) continue;
    ++count;
    highest = std::max(highest.value_or(value), value);
  }
  if (static_cast<double>(count) < kSamples.value || !(*highest >= 1) || *highest > 64) return std::nullopt;
  return static_cast<std::int32_t>(*highest);
}

struct Link {
  std::int32_t generation = 0;
  std::int32_t width = 0;
  std::int32_t generation_max = 0;
  std::int32_t width_max = 0;
  double now_gbps = 0;
  double max_gbps = 0;
};

std::optional<Link> link_of(const TraceStore& store, const StepView& view) {
  const auto generation_max = stated(store, "pcie_generation_max");
  const auto width_max = stated(store, "pcie_width_max");
  if (!generation_max || !width_max) return std::nullopt;
  const CounterValues counters(store);
  const auto generation = sampled(counters, view, "pcie_generation");
  auto width = sampled(counters, view, "pcie_width");
  if (!width) width = stated(store, "pcie_width_at_start");  // lanes do not change with the load
  if (!width) return std::nullopt;
  Link link{generation.value_or(*generation_max), *width, *generation_max, *width_max};
  const auto now = fusion::pcie_gbps(link.generation, link.width);
  const auto most = fusion::pcie_gbps(link.generation_max, link.width_max);
  if (!now || !most || *now >= *most) return std::nullopt;
  link.now_gbps = *now;
  link.max_gbps = *most;
  return link;
}

// Time that copies bound by the link would save; `most` counts pageable ones too, which the host may bound instead.
struct Saved {
  double least_ns = 0;
  double most_ns = 0;
};

Saved saved_by(const CopyExposure& copies, const StepView& view, const Link& link) {
  const double shorter = 1 - link.now_gbps / link.max_gbps;
  const auto bound = [&](const CopyGroup& group) {
    return group.gigabytes_per_second() >= kLinkBound.value * link.now_gbps ? group.exposed_ns * shorter : 0;
  };
  Saved saved;
  saved.least_ns = bound(copies.pinned_to_device);
  saved.most_ns = saved.least_ns + bound(copies.pageable_to_device) + bound(copies.to_host);
  saved.most_ns = std::min(saved.most_ns, view.undisturbed.memory_exposed_ns);
  saved.least_ns = std::min(saved.least_ns, saved.most_ns);
  return saved;
}

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding> earlier) {
  const StepView& view = input.facts.view;
  if (!view.usable || view.windows.empty()) return {};
  const auto link = link_of(input.store, view);
  if (!link) return {};
  const CopyExposure& copies = input.facts.copies;
  if (copies.best_pinned_gigabytes_per_second > kContradiction.value * link->now_gbps) return {};

  const Saved saved = saved_by(copies, view, *link);
  double claimed_before = 0;
  for (const Finding& finding : earlier) claimed_before += finding.claim.copy_ns;
  const double left_ns = std::max(0.0, view.undisturbed.memory_exposed_ns - claimed_before);
  Finding finding = new_finding(view, "pcie_degraded", saved.most_ns);
  finding.title = fmt::format("PCIe runs at generation {} x{} where device and slot can do generation {} x{}",
                              link->generation, link->width, link->generation_max, link->width_max);
  add_evidence(finding, "lanes in use", link->width, "lanes");
  add_evidence(finding, "lanes that device and slot have", link->width_max, "lanes");
  add_evidence(finding, "generation under load", link->generation, "");
  add_evidence(finding, "generation that device and slot can do", link->generation_max, "");
  if (const auto alone = stated(input.store, "pcie_generation_of_device"); alone && *alone > link->generation_max)
    add_evidence(finding, "generation that the device alone could do: the slot is older", *alone, "");
  add_evidence(finding, "the link carries at most, one direction, as it runs", link->now_gbps, "GB/s");
  add_evidence(finding, "it would carry at full width and generation", link->max_gbps, "GB/s");
  const double bytes = copies.pinned_to_device.bytes + copies.pageable_to_device.bytes + copies.to_host.bytes;
  add_evidence(finding, fmt::format("bytes over the link per {}", view.unit), bytes, "bytes");
  finding.claim.copy_ns = std::min(saved.most_ns, left_ns);
  finding.action.title = "Look at the slot, the riser and the BIOS setting of this device";
  finding.action.detail =
      "A link that trained to fewer lanes or to an older generation stays so until the next reset. The usual causes: "
      "the "
      "card is not seated well, a riser or cable is bad, the slot has fewer lanes than its size, the lanes are shared "
      "with another card, or the BIOS holds the generation down.";
  finding.action.command =
      "nvidia-smi "
      "--query-gpu=index,pcie.link.gen.current,pcie.link.gen.max,pcie.link.width.current,pcie.link.width.max "
      "--format=csv\n"
      "nvidia-smi -q -d PCIE\n"
      "sudo lspci -vv -s $(nvidia-smi --query-gpu=pci.bus_id --format=csv,noheader | head -1 | cut -c5-) | grep -i "
      "lnk\n";
  finding.action.side_effects = "the machine has to be drained and restarted for it";
  finding.action.not_when =
      "the host is a virtual machine that does not show the real slot, or the step copies next to nothing over the "
      "link";
  if (saved.most_ns > 0) set_gain(finding, view, saved.most_ns, saved.least_ns);
  add_doubts(finding, view);
  return {finding};
}

}  // namespace

RuleDescriptor pcie_degraded_rule() {
  RuleDescriptor rule;
  rule.id = "pcie_degraded";
  rule.title = "PCIe runs below what device and slot can do";
  rule.title_zh = "PCIe 低于设备与插槽的能力";
  rule.meaning =
      "The link between host and device has fewer lanes, or an older generation, than both of its ends could do. Every "
      "copy over it takes longer, and so does communication that has no NVLink.";
  rule.meaning_zh =
      "主机与设备之间的链路通道数较少或代数较低，低于两端的能力。经过它的每次拷贝都更慢，没有 NVLink 的通信也一样。";
  rule.how_we_know =
      "The recorder asks the driver once what device and slot can do together, and once a second what the link runs "
      "at. "
      "The width counts at any time; the generation only from samples within the steps, because an idle device lowers "
      "it. A pinned copy that is faster than the stated link proves the statement wrong, and nothing is said. The cost "
      "is the exposed time of copies that run near the link's rate, less what they would take on the full link.";
  rule.how_we_know_zh =
      "采集器向驱动查询一次设备与插槽共同的能力，并每秒查询链路当前状态。宽度任何时候都算数；代数只取步内的样本，因为空"
      "闲的设备会降低它。若有锁页拷贝快过所述链路，说明该说法有误，则不作结论。代价为接近链路速率的拷贝的暴露时间，减去"
      "其在完整链路上所需的时间。";
  rule.what_to_do =
      "Reseat the card, change riser or slot, look at the BIOS; compare with the other devices of the host.";
  rule.what_to_do_zh = "重新插好板卡，更换转接卡或插槽，检查 BIOS；并与同机的其他设备比较。";
  rule.when_wrong = "In a virtual machine that shows a made-up slot; where nothing is copied it costs nothing.";
  rule.when_wrong_zh = "在显示虚构插槽的虚拟机中，此结论不成立；没有拷贝时它没有代价。";
  rule.thresholds = {kSamples, kLinkBound, kContradiction};
  rule.needs = {"step_segmentation", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel
