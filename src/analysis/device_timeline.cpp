#include "analysis/device_timeline.h"

#include <algorithm>

#include "analysis/analysis.h"
#include "analysis/event_index.h"

namespace accel {
namespace {

// A record is not believed when this many later events of its own stream lie wholly inside it, and it lasts this many
// times as long as all of them together: some ROCm versions write ends far past the next kernels. Programmatic launches
// overlap one or two neighbours by microseconds.
constexpr int kEventsInside = 8;
constexpr std::int64_t kSuspiciousNs = 1'000'000;

struct OpenEvent {
  std::uint32_t row = 0;
  std::int64_t end_ns = 0;
  std::int64_t next_start_ns = kNotRecorded;
  int inside = 0;
};

bool is_graph_replay(const TraceStore& store, std::uint32_t event) {
  if (store.device_events.kind[event] != DeviceEventKind::kernel || !store.device_events.detail[event].valid())
    return false;
  const std::int64_t node = store.kernel_details.graph_node[store.device_events.detail[event].value];
  return node != kNotRecorded && node != 0;
}

// Branches of a graph share the stream of its launch and may truly overlap: they are left alone.
void find_suspicious(const TraceStore& store, const TraceStore::DeviceRange& range, DeviceTimeline& timeline) {
  const DeviceEventTable& events = store.device_events;
  std::vector<OpenEvent> open(store.streams.size());
  const auto settle = [&](const OpenEvent& event) {
    if (event.inside >= kEventsInside && event.next_start_ns != kNotRecorded)
      timeline.corrected_ends.emplace_back(event.row, event.next_start_ns);
  };
  for (std::uint32_t i = range.first; i < range.last; ++i) {
    if ((events.flags[i] & kDeviceNoTiming) != 0 || !events.stream[i].valid()) continue;
    OpenEvent& last = open[events.stream[i].value];
    const std::int64_t end = events.start_ns[i] + events.dur_ns[i];
    const bool flagged = (events.flags[i] & kDeviceSuspiciousEnd) != 0;
    if (last.end_ns > events.start_ns[i] && last.row < i) {
      if (last.next_start_ns == kNotRecorded) last.next_start_ns = events.start_ns[i];
      if (end <= last.end_ns) {
        ++last.inside;
        continue;
      }
    }
    settle(last);
    last = OpenEvent{};
    if (flagged || (events.dur_ns[i] >= kSuspiciousNs && !is_graph_replay(store, i)))
      last = {i, end, kNotRecorded, flagged ? kEventsInside : 0};
  }
  for (const OpenEvent& event : open) settle(event);
}

DeviceTimeline::Device build_device(const TraceStore& store, const EventIndex& index, const DeviceTimeline& timeline,
                                    const TraceStore::DeviceRange& range) {
  const DeviceEventTable& events = store.device_events;
  std::vector<Interval> compute;
  std::vector<Interval> communication;
  std::vector<Interval> copies;
  std::vector<Interval> sets;
  for (std::uint32_t i = range.first; i < range.last; ++i) {
    if ((events.flags[i] & kDeviceNoTiming) != 0) continue;
    const Interval time{events.start_ns[i], timeline.end_ns(store, i)};
    switch (events.kind[i]) {
      case DeviceEventKind::kernel:
        (index.communication_name[events.name[i].value] != 0 ? communication : compute).push_back(time);
        break;
      case DeviceEventKind::memcpy:
        copies.push_back(time);
        break;
      case DeviceEventKind::memset:
        sets.push_back(time);
        break;
    }
  }
  DeviceTimeline::Device device;
  device.device = range.device;
  device.compute = IntervalSet::from_sorted(compute);
  const IntervalSet all_communication = IntervalSet::from_sorted(communication);
  const IntervalSet kernels = device.compute.united(all_communication);
  const IntervalSet all_copies = IntervalSet::from_sorted(copies);
  const IntervalSet memory = all_copies.united(IntervalSet::from_sorted(sets));
  device.communication_exposed = all_communication.minus(device.compute);
  device.communication_overlapped = all_communication.intersected(device.compute);
  device.copy_exposed = all_copies.minus(kernels);
  device.memory_exposed = memory.minus(kernels);
  device.busy = kernels.united(memory);
  return device;
}

Result<void> run(const TraceStore& store, AnalysisResults& results, const AnalysisOptions&) {
  auto timeline = std::make_shared<DeviceTimeline>();
  for (const auto& range : store.device_ranges) find_suspicious(store, range, *timeline);
  std::sort(timeline->corrected_ends.begin(), timeline->corrected_ends.end());
  for (const auto& range : store.device_ranges) {
    timeline->devices.push_back(build_device(store, *results.event_index, *timeline, range));
  }
  results.device_timeline = std::move(timeline);
  return {};
}

}  // namespace

std::int64_t DeviceTimeline::end_ns(const TraceStore& store, std::uint32_t event) const {
  if (!corrected_ends.empty()) {
    const auto at = std::lower_bound(corrected_ends.begin(), corrected_ends.end(), std::pair(event, std::int64_t{0}),
                                     [](const auto& a, const auto& b) { return a.first < b.first; });
    if (at != corrected_ends.end() && at->first == event) return at->second;
  }
  return store.device_events.start_ns[event] + store.device_events.dur_ns[event];
}

AnalysisDescriptor describe_device_timeline() {
  return {"device_timeline",
          "Device timeline",
          "设备时间线",
          {"event_index"},
          "Unions, over all streams of a device, of the times of kernels, communication kernels, copies and sets. "
          "Device time "
          "is never a sum over streams: kernels of one stream may overlap too (programmatic launch).",
          run};
}

}  // namespace accel
