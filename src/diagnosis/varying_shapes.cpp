// The shapes of the heavy ops change from step to step.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/device_timeline.h"
#include "analysis/event_index.h"
#include "analysis/step_segmentation.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/host_idle.h"
#include "diagnosis/rule.h"
#include "diagnosis/source_location.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

constexpr Threshold kShapes{"distinct shapes", 3, "over the steps", "two may be a last, smaller batch"};
constexpr Threshold kSteps{"fewest steps", 4, "steps", "fewer do not show whether shapes come again"};

bool is_heavy(std::string_view name) {
  for (const std::string_view op : {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::convolution",
                                    "aten::cudnn_convolution", "aten::_scaled_dot_product"}) {
    if (name.starts_with(op)) return true;
  }
  return false;
}

constexpr Threshold kLeastSaved{"search time that goes at least", 0.6, "share",
                                "the convolution itself stays, by an algorithm that was not searched for"};
constexpr Threshold kWaits{"waits inside one convolution", 2, "calls",
                           "a convolution does not wait for the device, a search times each of its trials"};

// Convolutions that try one algorithm after the other (cudnn.benchmark, MIOpen's find): each trial is timed, so the
// host waits for the device several times inside one call.
struct Searches {
  IntervalSet host;
  std::uint64_t count = 0;
  SliceId longest;
};

Searches find_searches(const DiagnosisInput& input) {
  const TraceStore& store = input.store;
  const EventIndex& index = *input.results.event_index;
  std::vector<char> convolves(store.strings.size(), 0);  // 1 no, 2 yes
  std::map<std::uint32_t, std::uint32_t> waits;          // by the outermost convolution
  for (std::uint32_t row = 0; row < store.slices.size(); ++row) {
    if (!store.is_call(SliceId(row)) || index.class_of(store, row) != NameClass::synchronize) continue;
    SliceId outermost;
    for (SliceId up = store.slices.parent[row]; up.valid(); up = store.slices.parent[up.value]) {
      if (store.slices.kind[up.value] != SliceKind::op) continue;
      char& known = convolves[store.slices.name[up.value].value];
      if (known == 0) {
        const std::string_view name = store.text(store.slices.name[up.value]);
        known = name.starts_with("aten::") && name.find("convolution") != std::string_view::npos ? 2 : 1;
      }
      if (known == 2) outermost = up;
    }
    if (outermost.valid()) ++waits[outermost.value];
  }
  Searches found;
  std::vector<Interval> times;
  for (const auto& [op, count] : waits) {
    if (count < kWaits.value) continue;
    ++found.count;
    times.push_back({store.slices.start_ns[op], store.slice_end_ns(SliceId(op))});
    if (!found.longest.valid() || store.slices.dur_ns[op] > store.slices.dur_ns[found.longest.value])
      found.longest = SliceId(op);
  }
  found.host = IntervalSet::from_unsorted(std::move(times));
  return found;
}

// What of the step passes inside the searches: idle time of every cause that a search has, and the trials themselves.
Claim claim_searches(const DiagnosisInput& input, std::span<const Finding> earlier, const Searches& searches) {
  const StepView& view = input.facts.view;
  Claim claim;
  claim_idle_of_any_cause(claim, view, earlier, input.facts.host_idle.inside_ns(searches.host));
  const IntervalSet inside = searches.host.intersected(IntervalSet::from_unsorted(view.windows));
  for (const DeviceTimeline::Device& device : input.results.device_timeline->devices) {
    if (device.device != view.device || view.windows.empty()) continue;
    claim.compute_ns =
        static_cast<double>(device.compute.intersected(inside).total_ns()) / static_cast<double>(view.windows.size());
  }
  return claim;
}

struct Shapes {
  std::map<std::int32_t, std::uint64_t> by_step;  // order-independent hash of all shapes of the op in a step
  std::set<StringId> dims;
  SliceId example;
};

std::uint64_t mixed(std::uint64_t value) {
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccdULL;
  return value ^ (value >> 33);
}

std::map<StringId, Shapes> shapes_by_op(const DiagnosisInput& input) {
  const TraceStore& store = input.store;
  const StepSegmentation& segmentation = *input.results.step_segmentation;
  std::vector<char> heavy(store.strings.size(), 0);  // 1 no, 2 yes
  std::map<StringId, Shapes> ops;
  for (std::uint32_t row = 0; row < store.slices.size(); ++row) {
    if (store.slices.kind[row] != SliceKind::op || !store.slices.detail[row].valid()) continue;
    char& known = heavy[store.slices.name[row].value];
    if (known == 0) known = is_heavy(store.text(store.slices.name[row])) ? 2 : 1;
    if (known != 2) continue;
    const ArgsId args = store.op_details.args[store.slices.detail[row].value];
    if (!args.valid()) continue;
    const std::int32_t step = segmentation.step_at(store.slices.start_ns[row]);
    if (step < 0) continue;
    const Step& own = segmentation.steps[static_cast<std::size_t>(step)];
    if (!own.complete || own.step_class != StepClass::train) continue;
    Shapes& shapes = ops[store.slices.name[row]];
    const StringId dims = store.op_args.dims[args.value];
    shapes.by_step[step] += mixed(dims.value + 1ULL);
    shapes.dims.insert(dims);
    if (!shapes.example.valid()) shapes.example = SliceId(row);
  }
  return ops;
}

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding> earlier) {
  const StepView& view = input.facts.view;
  const std::map<StringId, Shapes> ops = shapes_by_op(input);
  const Shapes* most = nullptr;
  StringId name;
  std::size_t distinct_most = 0;
  for (const auto& [op, shapes] : ops) {
    std::set<std::uint64_t> distinct;
    for (const auto& [step, hash] : shapes.by_step) distinct.insert(hash);
    if (static_cast<double>(shapes.by_step.size()) < kSteps.value || distinct.size() <= distinct_most) continue;
    distinct_most = distinct.size();
    most = &shapes;
    name = op;
  }
  if (most == nullptr || static_cast<double>(distinct_most) < kShapes.value || 2 * distinct_most < most->by_step.size())
    return {};

  const Searches searches = find_searches(input);
  Claim claim;
  if (searches.count > 0) claim = claim_searches(input, earlier, searches);
  const double cost_ns = claim.total_ns();
  const bool searched = view.share(cost_ns) >= kFindingShare;
  Finding finding = new_finding(view, "varying_shapes", searched ? cost_ns : 0);
  finding.title = fmt::format("Shapes change from {} to {}: {} sets of shapes for {} in {} {}s", view.unit, view.unit,
                              distinct_most, input.store.text(name), most->by_step.size(), view.unit);
  if (searched) {
    finding.claim = claim;
    finding.title =
        fmt::format("New shapes in every {} make the convolutions search for an algorithm again: {} {} ({})", view.unit,
                    ms_text(cost_ns), view.a_unit, percent_text(finding.share_of_step));
    add_evidence(finding,
                 fmt::format("time inside convolutions that try one algorithm after the other, per {}", view.unit),
                 cost_ns / 1e6, "ms", searches.longest);
    add_evidence(finding, "such searches recorded", static_cast<double>(searches.count), "count");
  }
  add_evidence(finding,
               fmt::format("distinct sets of input shapes of {} over the {}s", input.store.text(name), view.unit),
               static_cast<double>(distinct_most), "count", most->example);
  add_evidence(finding, fmt::format("{}s compared", view.unit), static_cast<double>(most->by_step.size()), "count");
  std::size_t shown = 0;
  for (const StringId dims : most->dims) {
    if (shown++ == 3) break;
    add_evidence(finding, fmt::format("one of its shapes: {}", short_name(input.store.text(dims))), 1, "count");
  }
  finding.where.push_back(locate(input.store, most->example));
  finding.action.title = "Pad to a few fixed sizes, or tell the libraries that sizes vary";
  finding.action.detail =
      "Each new shape may be tuned (cudnn.benchmark), compiled (torch.compile) and allocated anew, and a CUDA graph "
      "cannot "
      "hold it. What that costs shows only in the step that meets a shape for the first time.";
  finding.action.command =
      "import torch\n"
      "\n"
      "torch.backends.cudnn.benchmark = False  # with sizes that vary, every new one is tuned for seconds\n"
      "\n"
      "def padded(length, sizes=(128, 256, 512, 1024, 2048)):\n"
      "    return next((size for size in sizes if size >= length), length)\n";
  finding.action.side_effects =
      "padding computes on values that are thrown away; it needs a mask where they would count";
  finding.action.not_when = "the sizes are few and come again: then each is paid for once";
  if (searched) {
    finding.action.title = "Switch cudnn.benchmark off, or pad to a few fixed sizes";
    set_gain(finding, view, cost_ns, kLeastSaved.value * cost_ns);
    add_doubts(finding, view);
  }
  return {finding};
}

}  // namespace

RuleDescriptor varying_shapes_rule() {
  RuleDescriptor rule;
  rule.id = "varying_shapes";
  rule.title = "Shapes vary from step to step";
  rule.title_zh = "形状逐步变化";
  rule.meaning =
      "The heavy ops see other input sizes in every step. Tuning, compilation, CUDA graphs and the allocator's cache "
      "all rest on sizes that come again.";
  rule.meaning_zh = "主要算子每一步的输入尺寸都不同。调优、编译、CUDA graph 与分配器缓存都依赖重复出现的尺寸。";
  rule.how_we_know =
      "The input shapes of matrix products, convolutions and attention, compared over the training steps. The cost is "
      "the "
      "time inside convolutions that wait for the device several times, which only a search for the best algorithm "
      "does; compilation and allocation in the window have rules of their own.";
  rule.how_we_know_zh =
      "比较各训练步中矩阵乘、卷积与注意力的输入形状。代价是多次等待设备的卷积调用内的时间，只有搜索最佳算法时才会如此；"
      "窗口内的编译与分配由各自的规则说明。";
  rule.what_to_do = "Bucket and pad, mark dimensions as dynamic, switch cudnn.benchmark off.";
  rule.what_to_do_zh = "分桶并填充，把维度标记为动态，关闭 cudnn.benchmark。";
  rule.when_wrong = "When the sizes are few and come again and again.";
  rule.when_wrong_zh = "当尺寸种类很少且反复出现时，此结论不成立。";
  rule.thresholds = {kShapes, kSteps, kWaits, kLeastSaved};
  rule.needs = {"device_timeline", "event_index", "step_segmentation", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel
