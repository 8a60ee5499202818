// The model is compiled again while it trains.
#include <fmt/format.h>

#include <charconv>
#include <set>

#include "analysis/event_index.h"
#include "analysis/host_activity.h"
#include "analysis/step_segmentation.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/host_idle.h"
#include "diagnosis/rule.h"
#include "diagnosis/source_location.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

// The highest N of "compile_id=FRAME/N": the frame has been compiled N times before.
std::optional<std::int64_t> times_before(const TraceStore& store) {
  std::optional<std::int64_t> most;
  constexpr std::string_view kKey = "compile_id=";
  std::vector<char> seen(store.strings.size(), 0);
  for (const StringId id : store.slices.name) {
    if (seen[id.value] != 0) continue;
    seen[id.value] = 1;
    const std::string_view name = store.text(id);
    const std::size_t at = name.find(kKey);
    if (at == std::string_view::npos) continue;
    const std::size_t slash = name.find('/', at);
    if (slash == std::string_view::npos) continue;
    std::int64_t number = 0;
    const auto read = std::from_chars(name.data() + slash + 1, name.data() + name.size(), number);
    if (read.ec == std::errc() && number >= 0 && number < 1'000'000) most = std::max(most.value_or(0), number);
  }
  return most;
}

// A compilation consists of several ranges beside each other; what they hold goes with them.
std::vector<std::string> names_of_compilation(const DiagnosisInput& input) {
  const EventIndex& index = *input.results.event_index;
  const TraceStore& store = input.store;
  std::set<std::string_view> names;
  for (std::uint32_t i = 0; i < store.slices.size(); ++i)
    if (index.class_of(store, i) == NameClass::compilation) names.insert(store.text(store.slices.name[i]));
  return {names.begin(), names.end()};
}

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding> earlier) {
  const StepView& view = input.facts.view;
  const HostPart& part = input.results.host_activity->compilation;
  if (part.count == 0) return {};
  Claim claim;
  // Compiling waits, allocates and launches too (autotuning): it takes from whatever cause its idle time was put on.
  const double cost_ns = claim_idle_of_any_cause(claim, view, earlier, input.facts.host_idle.inside_ns(part.time));
  if (view.share(cost_ns) < kFindingShare) return {};

  Finding finding = new_finding(view, "recompilation", cost_ns);
  const double steps = std::max<double>(1, input.results.host_activity->steps);
  finding.title = fmt::format("The device waits {} {} while the model is compiled again ({})", ms_text(cost_ns),
                              view.a_unit, percent_text(finding.share_of_step));
  add_evidence(finding, fmt::format("idle device time during compilation per {}", view.unit), cost_ns / 1e6, "ms",
               part.longest);
  add_evidence(finding, fmt::format("compilations per {}", view.unit), static_cast<double>(part.count) / steps, "count",
               part.longest);
  add_evidence(finding, "longest compilation", static_cast<double>(input.store.slices.dur_ns[part.longest.value]) / 1e6,
               "ms", part.longest);
  if (const auto before = times_before(input.store); before && *before > 0)
    add_evidence(finding, "times that one function had been compiled before", static_cast<double>(*before), "count");
  finding.where.push_back(locate(input.store, part.longest));
  finding.claim = claim;
  finding.action.title = "Find what changes from step to step, and compile for it once";
  finding.action.detail =
      "A compiled function is compiled again when one of its guards fails: another shape, another Python number, "
      "another "
      "flag. The log names the guard. Mark a dimension that varies as dynamic, pad it to a few sizes, or keep the "
      "number "
      "that changes in a tensor.";
  finding.action.command =
      "# what fails: run once with TORCH_LOGS=recompiles in the environment\n"
      "import torch\n"
      "\n"
      "torch._dynamo.mark_dynamic(batch, 0)              # the dimension that varies\n"
      "model = torch.compile(model, dynamic=True)        # or: every dimension may vary\n"
      "# torch._dynamo.config.error_on_recompile = True  # stops at the first one, with the reason\n";
  finding.action.side_effects = "kernels for dynamic shapes can be a few percent slower than those for one fixed shape";
  finding.action.not_when = "the shapes settle after some steps: then only the recorded window is early, record later";
  finding.remedies = {remedy(TransformationKind::no_host, names_of_compilation(input))};
  set_gain(finding, view, cost_ns, 0.8 * cost_ns);
  add_doubts(finding, view);
  return {finding};
}

}  // namespace

RuleDescriptor recompilation_rule() {
  RuleDescriptor rule;
  rule.id = "recompilation";
  rule.title = "The model is compiled again and again";
  rule.title_zh = "模型反复重新编译";
  rule.meaning =
      "torch.compile (or another just-in-time compiler) meets something that it has no code for, mostly a new shape, "
      "and "
      "compiles in the middle of training. Seconds pass in which nothing is launched.";
  rule.meaning_zh =
      "torch.compile（或其他即时编译器）遇到没有对应代码的情形（多为新形状），在训练中途重新编译，数秒内没有任何下发。";
  rule.how_we_know =
      "Idle device time inside the compiler's own ranges (entire_frame_compile, compile_fx, backend_compile) or "
      "frames, "
      "in steps that are not warm-up: those are set aside before.";
  rule.how_we_know_zh =
      "统计非预热步中，处于编译器自身区间（entire_frame_compile、compile_fx 等）或帧内时设备的空闲时间。";
  rule.what_to_do = "Read the recompilation log, mark varying dimensions as dynamic or pad to a few fixed sizes.";
  rule.what_to_do_zh = "查看重新编译日志，把变化的维度标记为动态，或填充到少数几种固定尺寸。";
  rule.when_wrong = "When the capture was taken while the job still met each shape for the first time.";
  rule.when_wrong_zh = "当采集发生在作业仍首次遇到各种形状的阶段时，此结论不成立。";
  rule.thresholds = {
      {"finding", kFindingShare, "share of the undisturbed step", "less is within the noise of a step"},
      {"warning", kWarningShare, "share of the undisturbed step", "below it the repair costs more than it brings"}};
  rule.needs = {"host_activity", "step_segmentation", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel
