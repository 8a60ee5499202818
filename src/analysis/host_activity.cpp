#include "analysis/host_activity.h"

#include <algorithm>

#include "analysis/analysis.h"
#include "analysis/device_timeline.h"
#include "analysis/event_index.h"
#include "analysis/host_stalls.h"
#include "analysis/step_segmentation.h"

namespace accel {
namespace {

bool in_complete_step(const StepSegmentation& segmentation, std::int64_t time) {
  const std::int32_t step = segmentation.step_at(time);
  return step >= 0 && segmentation.steps[static_cast<std::size_t>(step)].complete;
}

// The outermost slices of one class on every thread.
HostPart find_part(const TraceStore& store, const EventIndex& index, const StepSegmentation& segmentation,
                   std::initializer_list<NameClass> classes) {
  HostPart part;
  const auto wanted = [&](NameClass c) { return std::find(classes.begin(), classes.end(), c) != classes.end(); };
  if (std::none_of(index.name_class.begin(), index.name_class.end(), wanted)) return part;
  std::vector<Interval> times;
  for (const auto& [first, last] : store.thread_ranges) {
    std::int64_t open_until = std::numeric_limits<std::int64_t>::min();
    for (std::uint32_t row = first; row < last; ++row) {
      if (!wanted(index.class_of(store, row)) || store.slices.start_ns[row] < open_until) continue;
      const Interval time{store.slices.start_ns[row], store.slice_end_ns(SliceId(row))};
      open_until = time.end_ns;
      times.push_back(time);
      if (!in_complete_step(segmentation, time.start_ns)) continue;
      ++part.count;
      part.ns += time.length_ns();
      if (!part.longest.valid() || time.length_ns() > store.slices.dur_ns[part.longest.value])
        part.longest = SliceId(row);
    }
  }
  part.time = IntervalSet::from_unsorted(std::move(times));
  return part;
}

HostThread measure_thread(const TraceStore& store, const EventIndex& index, const StepSegmentation& segmentation,
                          ThreadIndex thread, std::vector<Interval>& covered) {
  HostThread own;
  own.thread = thread;
  bool any_backward = false;
  std::int64_t open_until = std::numeric_limits<std::int64_t>::min();
  const auto [first, last] = store.thread_ranges[thread.value];
  for (std::uint32_t row = first; row < last; ++row) {
    const SliceKind kind = store.slices.kind[row];
    const bool call = store.is_call(SliceId(row));
    if (!call && kind != SliceKind::op) continue;
    if (!in_complete_step(segmentation, store.slices.start_ns[row])) continue;
    ++own.records;
    any_backward |= !call && index.class_of(store, row) == NameClass::backward;
    const std::int64_t end = store.slice_end_ns(SliceId(row));
    if (call) {
      own.calls_ns += store.slices.dur_ns[row];
      if (index.blocks(store, row)) own.waits_ns += store.slices.dur_ns[row];
      if (index.launches(store, row)) ++own.launches;
    }
    if (store.slices.start_ns[row] < open_until) continue;
    open_until = end;
    if (!call) own.ops_ns += store.slices.dur_ns[row];
    covered.push_back({store.slices.start_ns[row], end});
  }
  own.role = thread == index.main_thread ? HostRole::main
             : any_backward              ? HostRole::autograd
             : own.launches > 0          ? HostRole::launching
                                         : HostRole::other;
  return own;
}

void measure_threads(const TraceStore& store, const EventIndex& index, const StepSegmentation& segmentation,
                     HostActivity& activity) {
  for (std::uint32_t t = 0; t < store.threads.size(); ++t) {
    std::vector<Interval> covered;
    const ThreadIndex thread(static_cast<std::uint16_t>(t));
    const HostThread own = measure_thread(store, index, segmentation, thread, covered);
    if (own.records == 0) continue;
    activity.threads.push_back(own);
    if (own.role != HostRole::main) continue;
    const IntervalSet in_records = IntervalSet::from_sorted(covered);
    for (const auto& window : segmentation.host_windows())
      activity.main_outside_ns += window.time.length_ns() - in_records.clipped(window.time).total_ns();
  }
  std::stable_sort(activity.threads.begin(), activity.threads.end(), [](const HostThread& a, const HostThread& b) {
    if ((a.role == HostRole::main) != (b.role == HostRole::main)) return a.role == HostRole::main;
    if (a.launches != b.launches) return a.launches > b.launches;
    return a.records > b.records;
  });
}

// From launch to start, where nothing on the device stood in between.
void measure_latency(const TraceStore& store, const StepSegmentation& segmentation, HostActivity& activity) {
  const DeviceEventTable& events = store.device_events;
  std::vector<std::int64_t> latencies;
  for (const TraceStore::DeviceRange& range : store.device_ranges) {
    std::int64_t busy_until = std::numeric_limits<std::int64_t>::min();
    for (std::uint32_t row = range.first; row < range.last; ++row) {
      if ((events.flags[row] & kDeviceNoTiming) != 0) continue;
      const std::int64_t start = events.start_ns[row];
      const SliceId launch = events.launch[row];
      if (launch.valid() && events.kind[row] == DeviceEventKind::kernel &&
          busy_until <= store.slices.start_ns[launch.value] &&
          in_complete_step(segmentation, store.slices.start_ns[launch.value])) {
        const std::int64_t latency = start - store.slice_end_ns(launch);
        if (latency >= 0) latencies.push_back(latency);
      }
      busy_until = std::max(busy_until, start + events.dur_ns[row]);
    }
  }
  if (latencies.empty()) return;
  std::sort(latencies.begin(), latencies.end());
  activity.launch_latency_median_ns = latencies[latencies.size() / 2];
  activity.launch_latency_p95_ns = latencies[latencies.size() * 95 / 100];
}

void measure_queue(const TraceStore& store, const StepSegmentation& segmentation, HostActivity& activity) {
  const DeviceEventTable& events = store.device_events;
  std::vector<std::pair<std::int64_t, int>> changes;
  for (std::uint32_t row = 0; row < events.size(); ++row) {
    const SliceId launch = events.launch[row];
    if (!launch.valid() || (events.flags[row] & kDeviceNoTiming) != 0) continue;
    const std::int64_t launched = store.slice_end_ns(launch);
    if (launched >= events.start_ns[row]) continue;  // it started before the call returned: never queued
    changes.emplace_back(launched, 1);
    changes.emplace_back(events.start_ns[row], -1);
  }
  const std::vector<StepSegmentation::Window> windows = segmentation.host_windows();
  if (changes.empty() || windows.empty()) return;
  std::sort(changes.begin(), changes.end());
  std::size_t next = 0;
  std::int64_t depth = 0;
  double weighted = 0, empty = 0, total = 0;
  for (const auto& window : windows) {
    while (next < changes.size() && changes[next].first <= window.time.start_ns) depth += changes[next++].second;
    std::int64_t at = window.time.start_ns;
    const auto hold = [&](std::int64_t until) {
      const auto ns = static_cast<double>(until - at);
      weighted += ns * static_cast<double>(depth);
      if (depth == 0) empty += ns;
      total += ns;
      activity.queue_depth_max =
          std::max(activity.queue_depth_max, static_cast<std::uint64_t>(std::max<std::int64_t>(0, depth)));
      at = until;
    };
    for (; next < changes.size() && changes[next].first < window.time.end_ns; ++next) {
      hold(changes[next].first);
      depth += changes[next].second;
    }
    hold(window.time.end_ns);
  }
  if (total <= 0) return;
  activity.queue_depth_mean = weighted / total;
  activity.queue_empty_share = empty / total;
}

Result<void> run(const TraceStore& store, AnalysisResults& results, const AnalysisOptions&) {
  const EventIndex& index = *results.event_index;
  const StepSegmentation& segmentation = *results.step_segmentation;
  auto activity = std::make_shared<HostActivity>();
  activity->steps = segmentation.complete_count;
  measure_threads(store, index, segmentation, *activity);
  const auto part = [&](std::initializer_list<NameClass> classes) {
    return find_part(store, index, segmentation, classes);
  };
  activity->garbage_collection = part({NameClass::garbage_collection});
  activity->compilation = part({NameClass::compilation});
  activity->module_load = part({NameClass::module_load});
  activity->checkpoint = part({NameClass::checkpoint});
  activity->data_loading = part({NameClass::dataloader_next, NameClass::data_range});
  activity->stalls = find_stalls(store, index, segmentation);
  measure_latency(store, segmentation, *activity);
  measure_queue(store, segmentation, *activity);
  results.host_activity = std::move(activity);
  return {};
}

}  // namespace

std::string_view to_string(HostRole role) {
  switch (role) {
    case HostRole::main:
      return "main";
    case HostRole::autograd:
      return "autograd";
    case HostRole::launching:
      return "launching";
    case HostRole::other:
      return "other";
  }
  return "other";
}

AnalysisDescriptor describe_host_activity() {
  return {
      "host_activity",
      "Host activity",
      "主机活动",
      {"event_index", "device_timeline", "step_segmentation"},
      "Over the complete steps. By thread: time in ops that no op encloses, in calls, in calls that wait, launches. "
      "Collections of garbage, compilation, loading of device code, saving of state and fetching of data: the "
      "outermost "
      "slices of each. Launch latency: from the end of the call to the start of the kernel, where the device had been "
      "idle since before the call. Queue depth: launched and not yet started. A stall is a gap of 1 ms or more on the "
      "main thread between two records whose gap is elsewhere at most a twentieth of that; many gaps of whole "
      "multiples of 5 ms mean that another thread held the interpreter.",
      run};
}

}  // namespace accel
