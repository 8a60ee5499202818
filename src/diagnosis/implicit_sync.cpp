// The host waits for the device, and the device then waits for the host.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/waits.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/ledger.h"
#include "diagnosis/rule.h"
#include "diagnosis/source_location.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

// A wait of one origin, merged over the calls it is made of (item = a copy to the host and a stream synchronisation).
struct Origin {
  StringId by;
  SliceId example;
  double count = 0;    // waits per step
  double host_ns = 0;  // per step
  double idle_ns = 0;  // measured idle device time per step
  bool copies = false;
  double largest_ns = 0;  // of the groups merged so far
};

constexpr Threshold kInTheWay{
    "waits named whatever they cost", 5, "per step",
    "one or two a step may stand at its end, outside of what a graph would hold; more are in the way"};

double steps_of(const StepView& view) { return std::max<double>(1, static_cast<double>(view.host_steps.size())); }

using CopyDirections = std::unordered_map<std::uint32_t, CopyDirection>;  // by row of the launching call

CopyDirections copy_directions(const TraceStore& store) {
  CopyDirections directions;
  for (std::uint32_t row = 0; row < store.device_events.size(); ++row) {
    if (store.device_events.kind[row] != DeviceEventKind::memcpy || !store.device_events.launch[row].valid()) continue;
    const DetailId detail = store.device_events.detail[row];
    if (detail.valid())
      directions.emplace(store.device_events.launch[row].value, store.copy_details.direction[detail.value]);
  }
  return directions;
}

// Whether the call is, or in the same op waits for, a copy to the device: then it belongs to host_to_device_copy.
bool serves_copy_to_device(const TraceStore& store, const CopyDirections& directions, SliceId call, SliceId by) {
  constexpr std::uint32_t kFarthest = 64;  // an op that copies and waits does little else
  const bool in_op = by.valid() && store.slices.kind[by.value] == SliceKind::op;
  const std::uint32_t first = in_op ? std::max(by.value, call.value - std::min(call.value, kFarthest)) : call.value;
  for (std::uint32_t row = call.value + 1; row-- > first;) {
    if (const auto known = directions.find(row); known != directions.end())
      return known->second == CopyDirection::host_to_device;
  }
  return false;
}

// What made the wait, by name; the step itself is nobody.
StringId origin_name(const TraceStore& store, StringId by) {
  return store.text(by).starts_with("ProfilerStep#") ? StringId(0) : by;
}

struct Calls {
  std::uint64_t all = 0;
  std::uint64_t serving_copies_to_device = 0;
};
using CallsByGroup = std::map<std::pair<StringId, StringId>, Calls>;  // by call and by what made it

CallsByGroup count_calls(const TraceStore& store, const Waits& waits) {
  CallsByGroup counted;
  std::vector<char> is_wait(store.strings.size(), 0);
  for (const WaitGroup& group : waits.groups) is_wait[group.call.value] = 1;
  const CopyDirections directions = copy_directions(store);
  for (std::uint32_t row = 0; row < store.slices.size(); ++row) {
    if (!is_wait[store.slices.name[row].value] || !store.is_call(SliceId(row))) continue;
    const SliceId by = store.enclosing_op(SliceId(row));
    Calls& calls = counted[{store.slices.name[row], by.valid() ? store.slices.name[by.value] : StringId(0)}];
    ++calls.all;
    if (serves_copy_to_device(store, directions, SliceId(row), by)) ++calls.serving_copies_to_device;
  }
  return counted;
}

std::vector<Origin> find_origins(const DiagnosisInput& input) {
  const TraceStore& store = input.store;
  const Waits& waits = *input.results.waits;
  const CallsByGroup calls = count_calls(store, waits);
  const double steps = steps_of(input.facts.view);
  std::map<StringId, Origin> origins;
  std::map<std::pair<StringId, StringId>, double> counts;  // by origin and call
  for (const WaitGroup& group : waits.groups) {
    if (group.count_in_steps == 0 || !group.example.valid()) continue;
    const auto known = calls.find({group.call, group.by});
    const double all = known == calls.end() ? 1 : static_cast<double>(known->second.all);
    const double kept =
        known == calls.end() ? 1 : 1 - static_cast<double>(known->second.serving_copies_to_device) / all;
    if (kept <= 0) continue;
    const StringId by = origin_name(store, group.by);
    Origin& origin = origins[by];
    origin.by = by;
    double& count = counts[{by, group.call}];
    count += kept * static_cast<double>(group.count_in_steps) / steps;
    origin.count = std::max(origin.count, count);
    origin.host_ns += kept * static_cast<double>(group.host_ns) / steps;
    const double idle = kept * static_cast<double>(group.device_idle_ns) / steps;
    origin.idle_ns += idle;
    if (group.is_copy) origin.copies = true;
    if (!origin.example.valid() || idle > origin.largest_ns) {
      origin.example = group.example;
      origin.largest_ns = idle;
    }
  }
  std::vector<Origin> list;
  for (const auto& [name, origin] : origins) list.push_back(origin);
  std::stable_sort(list.begin(), list.end(), [](const Origin& a, const Origin& b) { return a.idle_ns > b.idle_ns; });
  return list;
}

enum class WaitKind { item, shape, to_host, explicit_sync };

WaitKind kind_of(const TraceStore& store, const Origin& origin) {
  const std::string_view name = store.text(origin.by);
  for (const std::string_view op : {"aten::_local_scalar_dense", "aten::item", "aten::is_nonzero", "aten::equal"}) {
    if (name == op) return WaitKind::item;
  }
  for (const std::string_view op :
       {"aten::nonzero", "aten::index", "aten::masked_select", "aten::_unique2", "aten::unique_dim",
        "aten::unique_consecutive", "aten::repeat_interleave", "aten::bincount", "aten::argwhere"}) {
    if (name == op) return WaitKind::shape;
  }
  return origin.copies || name.starts_with("aten::") ? WaitKind::to_host : WaitKind::explicit_sync;
}

std::string_view words_for(WaitKind kind) {
  switch (kind) {
    case WaitKind::item:
      return "reads a device value on the host (.item(), float(), if tensor:)";
    case WaitKind::shape:
      return "makes a result whose size only the device knows (nonzero, boolean mask, unique)";
    case WaitKind::to_host:
      return "copies a tensor to the host (.cpu(), .tolist(), .numpy())";
    case WaitKind::explicit_sync:
      return "synchronises explicitly";
  }
  return "";
}

constexpr std::string_view kFindWaits =
    "torch.cuda.set_sync_debug_mode(\"warn\")  # warns at every line that waits; set it back to \"default\" "
    "afterwards\n";

std::string command_for(WaitKind kind) {
  switch (kind) {
    case WaitKind::item:
      return std::string(kFindWaits) +
             "# keep the value on the device, read it once in a while\n"
             "total = torch.zeros((), device=\"cuda\")\n"
             "for step, batch in enumerate(loader):\n"
             "    loss = train_step(batch)\n"
             "    total += loss.detach()\n"
             "    if step % 100 == 99:\n"
             "        print(total.item() / 100)\n"
             "        total.zero_()\n";
    case WaitKind::shape:
      return std::string(kFindWaits) +
             "# keep the shape: select by value instead of by index\n"
             "result = torch.where(mask, value, torch.zeros_like(value))  # instead of value[mask]\n";
    case WaitKind::to_host:
      return std::string(kFindWaits) +
             "# copy into pinned memory and go on; read it a step later\n"
             "host = torch.empty(result.shape, dtype=result.dtype, pin_memory=True)\n"
             "host.copy_(result, non_blocking=True)\n"
             "copied = torch.cuda.Event()\n"
             "copied.record()\n"
             "# ... the next step is launched here ...\n"
             "copied.synchronize()\n";
    case WaitKind::explicit_sync:
      return std::string(kFindWaits) +
             "# time with events instead of torch.cuda.synchronize()\n"
             "start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)\n"
             "start.record()\n"
             "train_step(batch)\n"
             "end.record()\n"
             "# ... some steps later ...\n"
             "if end.query():\n"
             "    print(start.elapsed_time(end))\n";
  }
  return {};
}

Action action_for(const DiagnosisInput& input, const Origin& origin, WaitKind kind) {
  Action action;
  const Location place = locate(input.store, origin.example);
  const std::string line = place.line ? fmt::format(" at {}:{}", place.file, *place.line) : std::string();
  action.title =
      kind == WaitKind::explicit_sync ? "Remove the synchronisation" + line : "Do not wait for the device" + line;
  action.detail = fmt::format(
      "{} makes the host wait for the device {} times {}; after each wait the device has nothing to run until the host "
      "has launched again.",
      origin.by == StringId(0) ? "The program" : input.store.text(origin.by), count_text(origin.count),
      input.facts.view.a_unit);
  if (line.empty())
    action.detail += " The capture has no Python frames: the first line of the command names the lines that wait.";
  action.command = command_for(kind);
  if (!input.facts.view.training) {
    for (std::size_t at = action.command.find("train_step"); at != std::string::npos;
         at = action.command.find("train_step")) {
      action.command.replace(at, 10, "run_model");
    }
    for (std::size_t at = action.command.find("loss"); at != std::string::npos; at = action.command.find("loss"))
      action.command.replace(at, 4, "value");
  }
  action.side_effects =
      "values that are read later are seen later: a check for NaN or an early stop reacts some steps after the fact";
  action.not_when = "the program decides by this value what to launch next";
  return action;
}

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding> earlier) {
  const StepView& view = input.facts.view;
  const std::vector<Origin> origins = find_origins(input);
  double measured_ns = 0, host_ns = 0, count = 0;
  for (const Origin& origin : origins) {
    measured_ns += origin.idle_ns;
    host_ns += origin.host_ns;
    count += origin.count;
  }

  // The breakdown's cause `synchronization` holds the idle of all waits, less what the recording made of it; copies to
  // the device have a rule of their own.
  const double all_ns = static_cast<double>(input.results.waits->device_idle_ns) / steps_of(view);
  const double ours = all_ns > 0 ? std::min(1.0, measured_ns / all_ns) : 0;
  const double cost_ns = ours * idle_left_ns(view, earlier, IdleCause::synchronization);

  // Waits that cost nothing are still in the way of a graph when there are several: then they stay, as info.
  if (view.share(cost_ns) < kFindingShare && count < kInTheWay.value) return {};

  Finding finding = new_finding(view, "implicit_sync", cost_ns);
  finding.title = fmt::format("{} waits for the device {} leave it idle for {} ({})", count_text(count), view.a_unit,
                              ms_text(cost_ns), percent_text(finding.share_of_step));
  add_evidence(
      finding,
      fmt::format("idle device time that the waits explain per {}, as it would be without the recording", view.unit),
      cost_ns / 1e6, "ms", origins.front().example);
  add_evidence(finding, fmt::format("the same as recorded, per {}", view.unit), measured_ns / 1e6, "ms");
  add_evidence(
      finding,
      fmt::format("host time inside the waiting calls per {} (it costs nothing while the device works)", view.unit),
      host_ns / 1e6, "ms");
  for (std::size_t i = 0; i < std::min<std::size_t>(origins.size(), 4); ++i) {
    const Origin& origin = origins[i];
    const std::string_view by = origin.by == StringId(0) ? "the program outside every op" : input.store.text(origin.by);
    add_evidence(finding,
                 fmt::format("waits per {}: {} {}", view.unit, short_name(by), words_for(kind_of(input.store, origin))),
                 origin.count, "count", origin.example);
    const SliceId op = input.store.enclosing_op(origin.example);
    finding.where.push_back(locate(input.store, op.valid() ? op : origin.example));
  }

  finding.claim.idle(IdleCause::synchronization) = cost_ns;
  finding.action = action_for(input, origins.front(), kind_of(input.store, origins.front()));
  // Without the waits the host runs ahead, unless it is the slower of the two anyway: an upper bound.
  set_gain_bound(finding, view, cost_ns);
  finding.prerequisite_of = {"launch_bound"};
  finding.remedies = {remedy(TransformationKind::no_sync)};
  add_doubts(finding, view);
  return {finding};
}

}  // namespace

RuleDescriptor implicit_sync_rule() {
  RuleDescriptor rule;
  rule.id = "implicit_sync";
  rule.title = "The host waits for the device";
  rule.title_zh = "主机在等待设备（隐式同步）";
  rule.meaning =
      "An op or a call makes the host wait until the device has caught up. The host cannot launch ahead, so the device "
      "has nothing to run "
      "until the next launch arrives.";
  rule.meaning_zh = "某个算子或调用让主机等到设备完成为止。主机因此无法提前下发，设备在下一次下发到来之前无事可做。";
  rule.how_we_know =
      "Synchronising calls and blocking copies by the op that made them. The cost is the idle device time from the end "
      "of the awaited work "
      "until the device runs again, not the time the host waited while the device was busy. aten::item alone proves "
      "nothing: on CPU "
      "tensors it never waits.";
  rule.how_we_know_zh =
      "按发起的算子统计同步调用与阻塞拷贝。代价是被等待的工作结束后到设备再次运行之间的空闲时间，而不是设备繁忙时主机等"
      "待的时间。仅有 aten::item 说明不了问题：对 CPU 张量它从不等待。";
  rule.what_to_do =
      "Keep values on the device and read them rarely or late; keep shapes independent of the data; remove explicit "
      "synchronisation.";
  rule.what_to_do_zh = "让数值留在设备上，少读或晚读；让形状不依赖数据；去掉显式同步。";
  rule.when_wrong =
      "When the program really needs the value to decide what to launch next, or the wait ends the measurement of a "
      "benchmark.";
  rule.when_wrong_zh = "当程序确实需要该数值来决定下一步下发什么，或该等待只是计时代码的一部分时，此结论不成立。";
  rule.thresholds = {
      {"finding", kFindingShare, "share of the undisturbed step", "waits while the device works cost nothing"},
      {"warning", kWarningShare, "share of the undisturbed step", "below it the repair costs more than it brings"},
      kInTheWay};
  rule.needs = {"step_segmentation", "waits", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel
