#include "diagnosis/copy_exposure.h"

#include <algorithm>
#include <array>

namespace accel {
namespace {

// Smaller copies measure latency, not bandwidth.
constexpr std::int64_t kBandwidthBytes = 1'000'000;

enum Group : std::size_t { kPageable, kPinned, kToHost, kOnDevice, kGroups };

// A call that returns after its copy has run has held the host up, whatever the record says about the memory.
bool blocked_the_host(const TraceStore& store, std::uint32_t row) {
  const SliceId launch = store.device_events.launch[row];
  return launch.valid() && store.slice_end_ns(launch) >= store.device_end_ns(DeviceEventId(row));
}

Group group_of(const TraceStore& store, std::uint32_t row) {
  const DeviceEventTable& events = store.device_events;
  if (events.kind[row] == DeviceEventKind::memset || !events.detail[row].valid()) return kOnDevice;
  const std::uint32_t detail = events.detail[row].value;
  switch (store.copy_details.direction[detail]) {
    case CopyDirection::host_to_device: {
      const MemoryKind source = store.copy_details.source[detail];
      const bool pageable =
          source == MemoryKind::pageable || (source == MemoryKind::unknown && blocked_the_host(store, row));
      return pageable ? kPageable : kPinned;
    }
    case CopyDirection::device_to_host:
      return kToHost;
    default:
      return kOnDevice;
  }
}

// Interval sets hold both, sorted by start, so that one pass over the windows clips them.
double in_windows_ns(const IntervalSet& set, const IntervalSet& windows) {
  return static_cast<double>(set.intersected(windows).total_ns());
}

bool inside(const std::vector<Interval>& windows, std::int64_t time) {
  const auto after = std::upper_bound(windows.begin(), windows.end(), time,
                                      [](std::int64_t t, const Interval& w) { return t < w.start_ns; });
  return after != windows.begin() && time < std::prev(after)->end_ns;
}

}  // namespace

TraceStore::DeviceRange device_range_of(const TraceStore& store, std::int64_t device) {
  for (const TraceStore::DeviceRange& range : store.device_ranges) {
    if (range.device == device) return range;
  }
  return {};
}

CopyExposure measure_copies(const TraceStore& store, const StepView& view) {
  CopyExposure result;
  const std::array<CopyGroup*, kGroups> groups{&result.pageable_to_device, &result.pinned_to_device, &result.to_host,
                                               &result.on_device};
  const DeviceEventTable& events = store.device_events;
  const TraceStore::DeviceRange range = device_range_of(store, view.device);
  std::array<std::vector<Interval>, kGroups> copies;
  std::vector<Interval> kernels;

  for (std::uint32_t row = range.first; row < range.last; ++row) {
    if (events.flags[row] & kDeviceNoTiming) continue;
    const Interval time{events.start_ns[row], events.start_ns[row] + events.dur_ns[row]};
    if (events.kind[row] == DeviceEventKind::kernel) {
      kernels.push_back(time);
      continue;
    }
    const Group which = group_of(store, row);
    copies[which].push_back(time);
    const bool has_detail = events.kind[row] == DeviceEventKind::memcpy && events.detail[row].valid();
    const std::int64_t bytes = has_detail ? store.copy_details.bytes[events.detail[row].value] : kNotRecorded;
    if (which == kPinned && bytes >= kBandwidthBytes && events.dur_ns[row] > 0) {
      result.best_pinned_gigabytes_per_second =
          std::max(result.best_pinned_gigabytes_per_second,
                   static_cast<double>(bytes) / static_cast<double>(events.dur_ns[row]));
    }
    if (!inside(view.windows, time.start_ns)) continue;
    CopyGroup& group = *groups[which];
    group.count += 1;
    if (bytes != kNotRecorded) group.bytes += static_cast<double>(bytes);
    if (!group.largest.valid() || bytes > group.largest_bytes) {
      group.largest = DeviceEventId(row);
      group.largest_bytes = std::max<std::int64_t>(bytes, 0);
      group.largest_ns = events.dur_ns[row];
    }
    if (events.launch[row].valid())
      group.host_blocked_ns += static_cast<double>(store.slices.dur_ns[events.launch[row].value]);
  }

  const IntervalSet windows = IntervalSet::from_sorted(view.windows);
  const IntervalSet kernel_set = IntervalSet::from_sorted(kernels);
  const double steps = std::max<double>(1, static_cast<double>(view.windows.size()));
  for (std::size_t i = 0; i < kGroups; ++i) {
    const IntervalSet set = IntervalSet::from_sorted(copies[i]);
    groups[i]->busy_ns = in_windows_ns(set, windows) / steps;
    groups[i]->exposed_ns = in_windows_ns(set.minus(kernel_set), windows) / steps;
    groups[i]->bytes /= steps;
    groups[i]->count /= steps;
    groups[i]->host_blocked_ns /= steps;
  }
  return result;
}

}  // namespace accel
