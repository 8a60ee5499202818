#include "analysis/elementwise.h"

namespace accel {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool sums_gradients(const TraceStore& store, SliceId launch) {
  constexpr int kLevels = 8;
  SliceId slice = launch;
  for (int level = 0; slice.valid() && level < kLevels; ++level, slice = store.slices.parent[slice.value]) {
    if (contains(store.text(store.slices.name[slice.value]), "AccumulateGrad")) return true;
  }
  return false;
}

}  // namespace

bool is_elementwise_kernel(std::string_view name) { return contains(name, "elementwise_kernel"); }

bool is_elementwise_computation(std::string_view name) {
  return is_elementwise_kernel(name) && !contains(name, "FillFunctor") && !contains(name, "direct_copy");
}

bool fits_into_formula(const TraceStore& store, const EventIndex& index, std::uint32_t row) {
  const DeviceEventTable& events = store.device_events;
  const SliceId launch = events.launch[row];
  const std::string_view name = store.text(events.name[row]);
  return events.kind[row] == DeviceEventKind::kernel && launch.valid() && (events.flags[row] & kDeviceNoTiming) == 0 &&
         (is_elementwise_kernel(name) || contains(name, "reduce_kernel")) &&
         index.class_of(store, launch.value) != NameClass::graph_launch && !sums_gradients(store, launch);
}

}  // namespace accel
