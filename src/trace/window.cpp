#include "trace/window.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace accel {
namespace {

constexpr std::uint32_t kGone = std::numeric_limits<std::uint32_t>::max();

bool reaches_into(std::int64_t start, std::int64_t dur, Interval window) {
  return start < window.end_ns && (start >= window.start_ns || start + dur > window.start_ns);
}

// Keeps the rows that `keep` says, in order; returns the new number of each old row.
template <typename Table, typename Keep>
std::vector<std::uint32_t> compact(Table& table, const Keep& keep) {
  std::vector<std::uint32_t> moved(table.size(), kGone);
  std::uint32_t next = 0;
  for (std::uint32_t i = 0; i < moved.size(); ++i) {
    if (keep(i)) moved[i] = next++;
  }
  table.for_each_column([&](std::string_view, std::string_view, auto& column) {
    for (std::size_t i = 0; i < moved.size(); ++i) {
      if (moved[i] != kGone) column[moved[i]] = column[i];
    }
    column.resize(next);
  });
  return moved;
}

// Parents that are gone are replaced by their own nearest kept ancestor. Old numbers in, new numbers out.
void mend_parents(SliceTable& slices, const std::vector<SliceId>& old_parent, const std::vector<std::uint32_t>& moved) {
  for (std::size_t old = 0; old < moved.size(); ++old) {
    if (moved[old] == kGone) continue;
    SliceId parent = old_parent[old];
    while (parent.valid() && moved[parent.value] == kGone) parent = old_parent[parent.value];
    const std::uint32_t row = moved[old];
    slices.parent[row] = parent.valid() ? SliceId(moved[parent.value]) : SliceId();
    slices.depth[row] = parent.valid()
                            ? static_cast<std::uint16_t>(std::min(slices.depth[moved[parent.value]] + 1, 0xFFFF))
                            : std::uint16_t{0};
  }
}

}  // namespace

std::uint64_t keep_window(TraceStore& store, Interval window) {
  std::uint64_t dropped = 0;
  const auto count = [&](const std::vector<std::uint32_t>& moved) {
    dropped += static_cast<std::uint64_t>(std::count(moved.begin(), moved.end(), kGone));
  };

  const std::vector<SliceId> old_parent = store.slices.parent;
  const auto slice_kept = [&](std::uint32_t i) {
    return reaches_into(store.slices.start_ns[i], store.slices.dur_ns[i], window);
  };
  std::vector<char> launch_kept(store.device_events.size(), 0);
  for (std::uint32_t i = 0; i < store.device_events.size(); ++i) {
    const SliceId launch = store.device_events.launch[i];
    launch_kept[i] = launch.valid()
                         ? slice_kept(launch.value)
                         : reaches_into(store.device_events.start_ns[i], store.device_events.dur_ns[i], window);
  }
  const std::vector<std::uint32_t> slices = compact(store.slices, slice_kept);
  count(slices);
  mend_parents(store.slices, old_parent, slices);
  std::uint32_t next = 0;
  for (auto& [first, last] : store.thread_ranges) {
    const auto kept =
        std::count_if(slices.begin() + first, slices.begin() + last, [](std::uint32_t row) { return row != kGone; });
    first = next;
    next += static_cast<std::uint32_t>(kept);
    last = next;
  }

  const std::vector<std::uint32_t> events =
      compact(store.device_events, [&](std::uint32_t i) { return launch_kept[i] != 0; });
  count(events);
  for (SliceId& launch : store.device_events.launch) {
    if (launch.valid()) launch = slices[launch.value] == kGone ? SliceId() : SliceId(slices[launch.value]);
  }
  std::vector<TraceStore::DeviceRange> ranges;
  for (std::uint32_t i = 0; i < store.device_events.size(); ++i) {
    const StreamIndex stream = store.device_events.stream[i];
    const std::int64_t device = stream.valid() ? store.streams.device[stream.value] : kNotRecorded;
    if (ranges.empty() || ranges.back().device != device) ranges.push_back({device, i, i});
    ranges.back().last = i + 1;
  }
  store.device_ranges = std::move(ranges);

  const auto op_kept = [&](std::uint32_t i) {
    const SliceId op = store.collectives.op[i];
    const DeviceEventId kernel = store.collectives.kernel[i];
    return (!op.valid() || slices[op.value] != kGone) && (!kernel.valid() || events[kernel.value] != kGone);
  };
  count(compact(store.collectives, op_kept));
  for (SliceId& op : store.collectives.op) {
    if (op.valid()) op = SliceId(slices[op.value]);
  }
  for (DeviceEventId& kernel : store.collectives.kernel) {
    if (kernel.valid()) kernel = DeviceEventId(events[kernel.value]);
  }
  const auto point = [&](std::int64_t time) { return time >= window.start_ns && time < window.end_ns; };
  count(compact(store.memory_events, [&](std::uint32_t i) { return point(store.memory_events.time_ns[i]); }));
  count(compact(store.counters, [&](std::uint32_t i) { return point(store.counters.time_ns[i]); }));
  count(compact(store.device_syncs, [&](std::uint32_t i) {
    return reaches_into(store.device_syncs.start_ns[i], store.device_syncs.dur_ns[i], window);
  }));
  count(compact(store.device_annotations, [&](std::uint32_t i) {
    return reaches_into(store.device_annotations.start_ns[i], store.device_annotations.dur_ns[i], window);
  }));

  // The window bounds the range on both sides, but for device work that was launched inside and ran on.
  std::int64_t end = std::min(store.time_range.end_ns, window.end_ns);
  for (std::size_t i = 0; i < store.device_events.size(); ++i) {
    if ((store.device_events.flags[i] & kDeviceNoTiming) == 0)
      end = std::max(end, store.device_events.start_ns[i] + store.device_events.dur_ns[i]);
  }
  store.time_range = {std::max(store.time_range.start_ns, window.start_ns), end};
  return dropped;
}

Interval window_of_steps(const TraceStore& store, std::int64_t first, std::int64_t last) {
  constexpr std::string_view kMarks[] = {"ProfilerStep#", "accel::step#"};
  Interval window{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  for (std::uint32_t i = 0; i < store.slices.size(); ++i) {
    if (store.slices.kind[i] != SliceKind::op && store.slices.kind[i] != SliceKind::annotation) continue;
    const std::string_view name = store.text(store.slices.name[i]);
    std::size_t length = 0;
    for (const std::string_view mark : kMarks) length = name.starts_with(mark) ? mark.size() : length;
    if (length == 0) continue;
    std::int64_t number = -1;
    std::from_chars(name.data() + length, name.data() + name.size(), number);
    if (number < first || number > last) continue;
    window.start_ns = std::min(window.start_ns, store.slices.start_ns[i]);
    window.end_ns = std::max(window.end_ns, store.slices.start_ns[i] + store.slices.dur_ns[i]);
  }
  return window.start_ns < window.end_ns ? window : Interval{};
}

}  // namespace accel
