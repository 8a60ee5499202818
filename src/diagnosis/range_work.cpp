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

// optimizer.step(closure) trains inside the range, as Lightning does always: each range begins behind its last
// backward.
bool cut_to_behind_closure(const TraceStore& store, std::vector<Interval>& ranges) {
  constexpr std::string_view kBackwardOp = "autograd::engine::evaluate_function";
  std::vector<char> is_backward(store.strings.size());
  for (std::uint32_t i = 0; i < is_backward.size(); ++i) {
    const std::string_view text = store.text(StringId(i));
    is_backward[i] = text.starts_with(kBackwardOp) || text == "backward" ? 1 : 0;
  }
  const std::vector<Interval> whole = ranges;
  bool any = false;
  for (std::uint32_t row = 0; row < store.slices.size(); ++row) {
    if (is_backward[store.slices.name[row].value] == 0) continue;
    const std::int64_t start = store.slices.start_ns[row];
    if (!starts_in(whole, start)) continue;
    const auto after = std::upper_bound(whole.begin(), whole.end(), start,
                                        [](std::int64_t t, const Interval& range) { return t < range.start_ns; });
    Interval& own = ranges[static_cast<std::size_t>(after - whole.begin() - 1)];
    own.start_ns = std::min(own.end_ns, std::max(own.start_ns, store.slice_end_ns(SliceId(row))));
    any = true;
  }
  return any;
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
    if (!work.longest.valid() || time.length_ns() > store.slices.dur_ns[work.longest.value])
      work.longest = SliceId(row);
  }
  if (times.empty()) return work;
  const double steps = std::max<double>(1, static_cast<double>(view.host_steps.size()));
  work.count = static_cast<double>(times.size()) / steps;
  std::sort(times.begin(), times.end(), [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
  work.closure = cut_to_behind_closure(store, times);
  for (const Interval& time : times) work.host_ns += static_cast<double>(time.length_ns()) / steps;
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
