#include "diagnosis/range_work.h"

#include <algorithm>

#include "diagnosis/copy_exposure.h"

namespace accel {
namespace {

bool starts_in(const std::vector<Interval>& steps, std::int64_t time) {
  const auto after = std::upper_bound(steps.begin(), steps.end(), time,
                                      [](std::int64_t t, const Interval& step) { return t < step.start_ns; });
  return after != steps.begin() && time < (after - 1)->end_ns;
}

}  // namespace

RangeWork measure_ranges(const TraceStore& store, const StepView& view, std::string_view prefix) {
  RangeWork work;
  std::vector<Interval> times;
  ThreadIndex thread;
  for (std::uint32_t row = 0; row < store.slices.size(); ++row) {
    if (store.slices.kind[row] != SliceKind::annotation) continue;
    if (!store.text(store.slices.name[row]).starts_with(prefix)) continue;
    const Interval time{store.slices.start_ns[row], store.slice_end_ns(SliceId(row))};
    if (!starts_in(view.host_steps, time.start_ns)) continue;
    if (!times.empty() && store.slices.thread[row] == thread && time.start_ns < times.back().end_ns) continue;
    thread = store.slices.thread[row];
    times.push_back(time);
    work.host_ns += static_cast<double>(time.length_ns());
    if (!work.longest.valid() || time.length_ns() > store.slices.dur_ns[work.longest.value])
      work.longest = SliceId(row);
  }
  if (times.empty()) return work;
  const double steps = std::max<double>(1, static_cast<double>(view.host_steps.size()));
  work.count = static_cast<double>(times.size()) / steps;
  work.host_ns /= steps;
  work.time = IntervalSet::from_unsorted(std::move(times));
  const std::vector<Interval> ranges(work.time.intervals().begin(), work.time.intervals().end());
  std::vector<Interval> device;
  const TraceStore::DeviceRange range = device_range_of(store, view.device);
  for (std::uint32_t row = range.first; row < range.last; ++row) {
    const SliceId launch = store.device_events.launch[row];
    if (!launch.valid() || store.slices.thread[launch.value] != store.slices.thread[work.longest.value]) continue;
    if (!starts_in(ranges, store.slices.start_ns[launch.value])) continue;
    work.launches += 1 / steps;
    const SliceId op = store.enclosing_op(launch);
    if (op.valid()) ++work.ops[store.slices.name[op.value]];
    if ((store.device_events.flags[row] & kDeviceNoTiming) == 0)
      device.push_back({store.device_events.start_ns[row], store.device_end_ns(DeviceEventId(row))});
  }
  work.device_ns = static_cast<double>(IntervalSet::from_sorted(device).total_ns()) / steps;
  return work;
}

}  // namespace accel
