// Ops compute on the CPU in the middle of the step.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analysis/event_index.h"
#include "analysis/host_stalls.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/host_idle.h"
#include "diagnosis/ledger.h"
#include "diagnosis/rule.h"
#include "diagnosis/source_location.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

constexpr Threshold kBothWays{
    "copies are symptoms", 2, "ratio of bytes",
    "what goes to the CPU and comes back is about the same; a batch or a result alone is not"};

// A range that torch records as an op while Python handles ops itself; no tensor is computed in it.
bool is_python_dispatch(std::string_view op) { return op == "PythonDispatchMode"; }

// Copies both ways in about the same amount, through pageable memory: they feed the CPU ops.
bool copies_are_symptoms(const CopyExposure& copies) {
  const double in = copies.pageable_to_device.bytes, out = copies.to_host.bytes;
  return in > 0 && out > 0 && in <= kBothWays.value * out && out <= kBothWays.value * in;
}

void claim_copies(Claim& claim, const DiagnosisInput& input) {
  const StepView& view = input.facts.view;
  const CopyExposure& copies = input.facts.copies;
  claim.idle(IdleCause::synchronization) = view.undisturbed.idle(IdleCause::synchronization);
  claim.idle(IdleCause::host_to_device_copy) = view.undisturbed.idle(IdleCause::host_to_device_copy);
  claim.copy_ns =
      std::min(copies.pageable_to_device.exposed_ns + copies.to_host.exposed_ns, view.undisturbed.memory_exposed_ns);
}

// The outermost op around a call.
SliceId outermost_op(const TraceStore& store, std::uint32_t call) {
  SliceId op;
  for (SliceId at = store.slices.parent[call]; at.valid(); at = store.slices.parent[at.value])
    if (store.slices.kind[at.value] == SliceKind::op) op = at;
  return op;
}

// Ops around a copy from or to pageable memory, and nothing else on the device, that take long by themselves, without a
// record inside: they get the host memory of CPU tensors and give it back. The names, each once.
std::vector<std::string> ops_around_copies(const TraceStore& store, const EventIndex& index) {
  const SliceTable& slices = store.slices;
  std::vector<std::uint32_t> around;
  for (std::uint32_t row = 0; row < index.slice_flags.size(); ++row) {
    if ((index.slice_flags[row] & kCallPageable) == 0) continue;
    const SliceId op = outermost_op(store, row);
    if (op.valid() && (around.empty() || around.back() != op.value)) around.push_back(op.value);
  }
  std::vector<std::uint32_t> names;
  std::vector<std::int64_t> own;
  for (const std::uint32_t first : around) {
    const std::int64_t end = store.slice_end_ns(SliceId(first));
    const std::uint32_t last = store.thread_ranges[slices.thread[first].value].second;
    own.clear();
    bool copies_alone = true;
    for (std::uint32_t row = first; row < last && slices.start_ns[row] < end; ++row) {
      copies_alone = copies_alone && (!index.launches(store, row) || (index.slice_flags[row] & kCallPageable) != 0);
      own.push_back(slices.dur_ns[row]);
      const SliceId parent = slices.parent[row];
      if (row > first && parent.valid() && parent.value >= first) own[parent.value - first] -= slices.dur_ns[row];
    }
    if (!copies_alone) continue;
    for (std::uint32_t k = 0; k < own.size(); ++k)
      if (own[k] >= kSilentStretchNs && slices.kind[first + k] == SliceKind::op)
        names.push_back(slices.name[first + k].value);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<std::string> texts;
  texts.reserve(names.size());
  for (const std::uint32_t name : names) texts.emplace_back(store.text(StringId(name)));
  return texts;
}

// The ops go away, and with the copies that feed them the calls that wait for these, what gets and frees their host
// memory, and what autograd does around them: the thread that called it runs the backward of CPU ops itself.
std::vector<Transformation> remedies(const DiagnosisInput& input, const std::vector<const HostWorkGroup*>& ops,
                                     bool copies) {
  std::vector<std::string> names;
  names.reserve(ops.size());
  for (const HostWorkGroup* group : ops) names.emplace_back(input.store.text(group->name));
  if (!copies) return {remedy(TransformationKind::no_host, names)};
  names.emplace_back("run_backward");
  for (std::string& name : ops_around_copies(input.store, *input.results.event_index)) names.push_back(std::move(name));
  return {remedy(TransformationKind::no_host, names), remedy(TransformationKind::no_sync),
          scale({"Memcpy HtoD (Pageable", "Memcpy DtoH"}, {0.0, 0.0, 0.2}), remedy(TransformationKind::pin_overlap)};
}

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding> earlier) {
  const StepView& view = input.facts.view;
  double ops_ns = 0;
  std::vector<const HostWorkGroup*> groups;
  for (const HostWorkGroup& group : input.facts.host_work.groups) {
    const std::string_view name = input.store.text(group.name);
    if (group.kind != SliceKind::op || is_metadata_op(name) || is_python_dispatch(name)) continue;
    groups.push_back(&group);
    ops_ns += group.ns_per_step;
  }
  if (groups.empty()) return {};
  Claim claim;
  claim_host_idle(claim, view, earlier, ops_ns);
  const bool copies = copies_are_symptoms(input.facts.copies);
  if (copies) claim_copies(claim, input);
  cut_to_left(claim, view, earlier);
  const double cost_ns = claim.total_ns();
  if (view.share(cost_ns) < kFindingShare) return {};

  Finding finding = new_finding(view, "cpu_fallback", cost_ns);
  finding.title = fmt::format("Ops that compute on the CPU hold the step up for {} ({})", ms_text(cost_ns),
                              percent_text(finding.share_of_step));
  add_evidence(finding, fmt::format("idle device time while CPU ops compute, per {}", view.unit), ops_ns / 1e6, "ms",
               groups.front()->example);
  for (std::size_t k = 0; k < std::min<std::size_t>(groups.size(), 4); ++k) {
    const HostWorkGroup& group = *groups[k];
    const std::string_view name = input.store.text(group.name);
    add_evidence(finding,
                 fmt::format("of it in {} on the CPU, longest {}", short_name(name),
                             ms_text(static_cast<double>(group.longest_ns))),
                 group.ns_per_step / 1e6, "ms", group.example);
    finding.where.push_back(locate(input.store, group.example));
  }
  if (copies) {
    add_evidence(finding, fmt::format("bytes copied to the CPU and back for it per {}", view.unit),
                 input.facts.copies.to_host.bytes + input.facts.copies.pageable_to_device.bytes, "bytes");
    add_evidence(
        finding, fmt::format("copies and waits that serve it, per {}", view.unit),
        (claim.copy_ns + claim.idle(IdleCause::synchronization) + claim.idle(IdleCause::host_to_device_copy)) / 1e6,
        "ms");
  }
  finding.claim = claim;
  const Location& place = finding.where.front();
  const std::string line = place.line ? fmt::format(" at {}:{}", place.file, *place.line) : std::string();
  finding.action.title = "Keep the computation on the device" + line;
  finding.action.detail = fmt::format(
      "{} and {} other kinds of op got CPU tensors: a module or a buffer that was never moved, a .cpu() or .numpy(), "
      "or "
      "an op that falls back.{} The copies and waits around them go away with it.",
      input.store.text(groups.front()->name), groups.size() - 1,
      line.empty() ? " The capture has no Python frames: with_stack=True names the line." : "");
  finding.action.command =
      "# what is still on the CPU\n"
      "print([name for name, tensor in [*model.named_parameters(), *model.named_buffers()] if tensor.device.type == "
      "\"cpu\"])\n"
      "model.to(\"cuda\")\n"
      "# and in the code" +
      line + ": no .cpu(), .numpy(), .to(\"cpu\") between two layers\n";
  finding.action.side_effects = "device memory for what moves there";
  finding.action.not_when =
      "the computation is cheap on the CPU and its result is needed there anyway: do it a step later";
  finding.remedies = remedies(input, groups, copies);
  set_gain(finding, view, cost_ns, 0.6 * cost_ns);
  add_doubts(finding, view);
  return {finding};
}

}  // namespace

RuleDescriptor cpu_fallback_rule() {
  RuleDescriptor rule;
  rule.id = "cpu_fallback";
  rule.title = "Part of the model runs on the CPU";
  rule.title_zh = "部分计算落在 CPU 上";
  rule.meaning =
      "Ops in the step work on CPU tensors. The device waits for them, and the data go to the host and back around "
      "them.";
  rule.meaning_zh = "步内有算子在 CPU 张量上计算。设备等待它们，数据还要为此往返主机。";
  rule.how_we_know =
      "Ops that launch nothing and take 200 us or more without a record inside, while the device is idle. The data "
      "loader's ops are not counted. Pageable copies both ways of about the same size count as their symptom.";
  rule.how_we_know_zh =
      "设备空闲期间，不下发任何任务且 200 "
      "微秒以上内部无记录的算子（不含数据加载器的算子）。双向大小相近的可分页拷贝视为其症状。";
  rule.what_to_do = "Move the module, buffer or computation to the device.";
  rule.what_to_do_zh = "把该模块、缓冲区或计算移到设备上。";
  rule.when_wrong =
      "When the op prepares data for the next step and only happens to run in the main thread: then it belongs in the "
      "loader.";
  rule.when_wrong_zh = "当该算子只是在主线程里为下一步准备数据时：应当移入数据加载器。";
  rule.thresholds = {
      {"finding", kFindingShare, "share of the undisturbed step", "less is within the noise of a step"},
      {"warning", kWarningShare, "share of the undisturbed step", "below it the repair costs more than it brings"},
      {"shortest op", static_cast<double>(kSilentStretchNs), "ns", "an op that launches takes less than this"},
      kBothWays};
  rule.needs = {"step_segmentation", "idle_attribution", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel
