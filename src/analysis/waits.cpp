#include "analysis/waits.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/analysis.h"
#include "analysis/event_index.h"
#include "analysis/idle_attribution.h"
#include "analysis/step_segmentation.h"

namespace accel {
namespace {

struct WaitCall {
  std::uint32_t slice = 0;
  bool is_copy = false;
};

// Blocking calls that start in complete steps, on any thread.
std::vector<WaitCall> find_waits(const TraceStore& store, const EventIndex& index,
                                 const StepSegmentation& segmentation) {
  std::vector<WaitCall> waits;
  for (std::uint32_t i = 0; i < store.slices.size(); ++i) {
    if (!index.blocks(store, i)) continue;
    const bool is_copy = (index.slice_flags[i] & kCallPageable) != 0;
    const std::int32_t step = segmentation.step_at(store.slices.start_ns[i]);
    if (step < 0 || !segmentation.steps[step].complete) continue;
    waits.push_back({i, is_copy});
  }
  return waits;
}

// Idle explained by each wait, summed over the devices.
std::map<SliceId, std::int64_t> idle_of_waits(const IdleAttribution& attribution) {
  std::map<SliceId, std::int64_t> idle;
  for (const IdleOfDevice& device : attribution.devices) {
    for (const WaitIdle& wait : device.waits) idle[wait.call] += wait.in_call_ns + wait.after_ns;
  }
  return idle;
}

Result<void> run(const TraceStore& store, AnalysisResults& results, const AnalysisOptions&) {
  auto waits = std::make_shared<Waits>();
  const std::map<SliceId, std::int64_t> idle = idle_of_waits(*results.idle_attribution);
  std::map<std::tuple<StringId, StringId, bool>, WaitGroup> groups;
  std::map<std::tuple<StringId, StringId, bool>, std::int64_t> costliest;
  StringId profiler_step;  // all steps count as one range, named by the first
  for (const WaitCall& wait : find_waits(store, *results.event_index, *results.step_segmentation)) {
    const SliceId id(wait.slice);
    const SliceId by = store.enclosing_op(id);
    StringId by_name = by.valid() ? store.slices.name[by.value] : StringId(0);
    if (by.valid() && results.event_index->class_of(store, by.value) == NameClass::profiler_step) {
      if (!profiler_step.valid()) profiler_step = by_name;
      by_name = profiler_step;
    }
    const auto key = std::tuple(store.slices.name[wait.slice], by_name, wait.is_copy);
    WaitGroup& group = groups[key];
    group.call = store.slices.name[wait.slice];
    group.by = by_name;
    group.is_copy = wait.is_copy;
    ++group.count_in_steps;
    group.host_ns += store.slices.dur_ns[wait.slice];
    const auto at = idle.find(id);
    const std::int64_t cost = at == idle.end() ? 0 : at->second;
    group.device_idle_ns += cost;
    std::int64_t& most = costliest[key];
    if (!group.example.valid() || cost > most) {
      most = cost;
      group.example = id;
    }
  }
  for (const auto& [key, group] : groups) {
    waits->groups.push_back(group);
    waits->count_in_steps += group.count_in_steps;
    waits->host_ns += group.host_ns;
    waits->device_idle_ns += group.device_idle_ns;
  }
  std::stable_sort(waits->groups.begin(), waits->groups.end(),
                   [](const WaitGroup& a, const WaitGroup& b) { return a.device_idle_ns > b.device_idle_ns; });
  results.waits = std::move(waits);
  return {};
}

}  // namespace

AnalysisDescriptor describe_waits() {
  return {"waits",
          "Waits",
          "等待",
          {"event_index", "step_segmentation", "idle_attribution"},
          "Host calls that block on the device: synchronisations, and copies with a pageable side, by the innermost op "
          "or range "
          "that makes them. aten::item on a CPU tensor makes no such call and does not count. The cost of a wait is "
          "the idle "
          "device time that it explains, not the time the host waited for a device that was busy.",
          run};
}

}  // namespace accel
