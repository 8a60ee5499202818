#include "diagnosis/allocator_calls.h"

#include <algorithm>
#include <map>
#include <set>

namespace accel {
namespace {

struct NamedKind {
  std::string_view name;
  AllocatorCallKind kind;
};

// Without the vendor's prefix. Stream-ordered calls (MallocAsync, FreeAsync) are cheap by design and left out.
constexpr NamedKind kCalls[] = {
    {"Malloc", AllocatorCallKind::device_allocation},
    {"MallocPitch", AllocatorCallKind::device_allocation},
    {"MallocManaged", AllocatorCallKind::device_allocation},
    {"ExtMallocWithFlags", AllocatorCallKind::device_allocation},
    {"MemAlloc", AllocatorCallKind::device_allocation},
    {"MemAlloc_v2", AllocatorCallKind::device_allocation},
    {"MemCreate", AllocatorCallKind::device_allocation},
    {"MemMap", AllocatorCallKind::device_allocation},
    {"MemSetAccess", AllocatorCallKind::device_allocation},
    {"MemAddressReserve", AllocatorCallKind::device_allocation},
    {"Free", AllocatorCallKind::device_free},
    {"MemFree", AllocatorCallKind::device_free},
    {"MemFree_v2", AllocatorCallKind::device_free},
    {"MemUnmap", AllocatorCallKind::device_free},
    {"MemRelease", AllocatorCallKind::device_free},
    {"MemAddressFree", AllocatorCallKind::device_free},
    {"HostAlloc", AllocatorCallKind::host_allocation},
    {"MallocHost", AllocatorCallKind::host_allocation},
    {"HostMalloc", AllocatorCallKind::host_allocation},
    {"HostRegister", AllocatorCallKind::host_allocation},
    {"MemHostAlloc", AllocatorCallKind::host_allocation},
    {"FreeHost", AllocatorCallKind::host_free},
    {"HostFree", AllocatorCallKind::host_free},
    {"HostUnregister", AllocatorCallKind::host_free},
    {"MemFreeHost", AllocatorCallKind::host_free},
};

std::string_view without_prefix(std::string_view call) {
  for (const std::string_view prefix : {"cuda", "hip", "cu"}) {
    if (call.starts_with(prefix)) return call.substr(prefix.size());
  }
  return {};
}

std::size_t window_at(const std::vector<Interval>& windows, std::int64_t time) {
  const auto after = std::upper_bound(windows.begin(), windows.end(), time,
                                      [](std::int64_t t, const Interval& w) { return t < w.start_ns; });
  if (after == windows.begin() || time >= std::prev(after)->end_ns) return windows.size();
  return static_cast<std::size_t>(std::prev(after) - windows.begin());
}

bool inside_op(const TraceStore& store, SliceId id) {
  for (id = store.slices.parent[id.value]; id.valid(); id = store.slices.parent[id.value]) {
    if (store.slices.kind[id.value] == SliceKind::op) return true;
  }
  return false;
}

}  // namespace

AllocatorCallKind allocator_call_kind(std::string_view call) {
  const std::string_view bare = without_prefix(call);
  for (const NamedKind& known : kCalls) {
    if (known.name == bare) return known.kind;
  }
  return AllocatorCallKind::none;
}

AllocatorCalls find_allocator_calls(const TraceStore& store, const StepView& view) {
  AllocatorCalls result;
  if (view.host_steps.empty()) return result;
  std::map<std::uint32_t, AllocatorCallKind> kinds;  // by name: few distinct calls, each judged once
  std::map<std::uint32_t, AllocatorCallGroup> groups;
  std::set<std::size_t> steps_with_calls;
  const double steps = static_cast<double>(view.host_steps.size());
  for (std::uint32_t row = 0; row < store.slices.size(); ++row) {
    if (!store.is_call(SliceId(row))) continue;
    const StringId name = store.slices.name[row];
    const auto [known, is_new] = kinds.try_emplace(name.value, AllocatorCallKind::none);
    if (is_new) known->second = allocator_call_kind(store.text(name));
    if (known->second == AllocatorCallKind::none) continue;
    const std::size_t window = window_at(view.host_steps, store.slices.start_ns[row]);
    if (window == view.host_steps.size()) continue;
    steps_with_calls.insert(window);

    const double duration = static_cast<double>(store.slices.dur_ns[row]);
    AllocatorCallGroup& group = groups[name.value];
    group.call = name;
    group.count += 1 / steps;
    group.host_ns += duration / steps;
    if (!group.example.valid() || store.slices.dur_ns[row] > store.slices.dur_ns[group.example.value])
      group.example = SliceId(row);
    if (!result.largest.valid() || store.slices.dur_ns[row] > store.slices.dur_ns[result.largest.value])
      result.largest = SliceId(row);
    result.host_ns += duration / steps;
    if (known->second == AllocatorCallKind::device_allocation) result.allocations += 1 / steps;
    if (known->second == AllocatorCallKind::host_allocation) result.host_allocations += 1 / steps;
    if (known->second == AllocatorCallKind::device_free) {
      result.frees += 1 / steps;
      if (!inside_op(store, SliceId(row))) result.frees_outside_ops += 1 / steps;
    }
  }
  result.steps_with_calls = steps_with_calls.size();
  for (const auto& [name, group] : groups) result.groups.push_back(group);
  std::stable_sort(result.groups.begin(), result.groups.end(),
                   [](const AllocatorCallGroup& a, const AllocatorCallGroup& b) { return a.host_ns > b.host_ns; });
  return result;
}

}  // namespace accel
