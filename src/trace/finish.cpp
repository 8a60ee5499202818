#include "trace/finish.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/task_pool.h"

namespace accel {
namespace {

void add_base(std::vector<std::int64_t>& times, std::int64_t base_ns) {
  if (base_ns == 0) return;
  for (std::int64_t& time : times) time += base_ns;
}

// The tables that keep their input order.
void drain_plain_tables(TraceBuilder::State& state) {
  TraceStore& store = state.store;
#define TABLE_BEGIN(Name, accessor, doc)                                                                  \
  if constexpr (constexpr std::string_view table = #Name; table != "Slice" && table != "DeviceEvent" &&   \
                                                          table != "OpArgs" && table != "LaunchConfig" && \
                                                          table != "Stream" && table != "Thread") {       \
    auto& staged = state.staged.accessor;                                                                 \
    auto& out = store.accessor;
#define COLUMN(type, name, unit, doc) staged.name.drain(out.name, staged.rows);
#define TABLE_END(Name) }
#include "trace/schema.def"
#undef TABLE_BEGIN
#undef COLUMN
#undef TABLE_END
}

void name_threads(TraceBuilder::State& state) {
  ThreadTable& threads = state.store.threads;
  for (const TraceBatch::ThreadName& name : state.thread_names) {
    for (std::size_t t = 0; t < threads.size(); ++t) {
      const auto same = [](StringId a, StringId b) { return (a.valid() ? a.value : 0) == (b.valid() ? b.value : 0); };
      if (threads.pid[t] == name.pid && threads.tid[t] == name.tid && same(threads.pid_text[t], name.pid_text) &&
          same(threads.tid_text[t], name.tid_text)) {
        threads.name[t] = name.name;  // the last name given stands
      }
    }
  }
}

void find_main_process(TraceStore& store) {
  std::map<std::int64_t, std::uint64_t> rows;
  for (std::size_t t = 0; t < store.threads.size(); ++t) {
    const auto [first, last] = store.thread_ranges[t];
    if (store.threads.pid[t] != kNotRecorded && store.threads.pid[t] >= 0) rows[store.threads.pid[t]] += last - first;
  }
  std::uint64_t most = 0;
  for (const auto& [pid, n] : rows) {
    if (n > most) {
      most = n;
      store.process.main_pid = pid;
    }
  }
}

// No recording of training steps lasts a day: what lasts longer, or starts further from the rest, has no usable time.
constexpr std::int64_t kDayNs = 86'400'000'000'000;

template <typename Fn>
void for_each_start(const TraceStore& store, Fn&& fn) {
  for (const std::int64_t start : store.slices.start_ns) fn(start);
  for (std::size_t i = 0; i < store.device_events.size(); ++i) {
    if ((store.device_events.flags[i] & kDeviceNoTiming) == 0) fn(store.device_events.start_ns[i]);
  }
}

// Keeps the events and takes their impossible times out of ranges and sums.
void mark_impossible_times(TraceStore& store) {
  SliceTable& slices = store.slices;
  DeviceEventTable& events = store.device_events;
  std::uint64_t absurd = 0;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (slices.dur_ns[i] <= kDayNs) continue;
    slices.flags[i] |= kSliceUnfinished;
    slices.dur_ns[i] = 0;
    ++absurd;
  }
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events.dur_ns[i] <= kDayNs || (events.flags[i] & kDeviceNoTiming) != 0) continue;
    events.flags[i] |= kDeviceNoTiming;
    ++absurd;
  }
  store.notes.add(NoteCode::absurd_duration, absurd);

  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  for_each_start(store, [&](std::int64_t start) {
    first = std::min(first, start);
    last = std::max(last, start);
  });
  if (first >= last || last - kDayNs <= first) return;
  std::vector<std::int64_t> starts;
  for_each_start(store, [&](std::int64_t start) { starts.push_back(start); });
  const auto middle = starts.begin() + static_cast<std::ptrdiff_t>(starts.size() / 2);
  std::nth_element(starts.begin(), middle, starts.end());
  const auto far = [median = *middle](std::int64_t start) {
    return start > median ? start - kDayNs > median : start + kDayNs < median;
  };
  std::uint64_t outside = 0;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (!far(slices.start_ns[i])) continue;
    slices.flags[i] |= kSliceOutOfRange;
    ++outside;
  }
  for (std::size_t i = 0; i < events.size(); ++i) {
    if ((events.flags[i] & kDeviceNoTiming) != 0 || !far(events.start_ns[i])) continue;
    events.flags[i] |= kDeviceNoTiming;
    ++outside;
  }
  store.notes.add(NoteCode::out_of_range_time, outside);
}

Interval find_time_range(const TraceStore& store) {
  std::int64_t start = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = std::numeric_limits<std::int64_t>::min();
  const auto see = [&](std::int64_t from, std::int64_t dur) {
    start = std::min(start, from);
    end = std::max(end, from + dur);
  };
  for (std::size_t i = 0; i < store.slices.size(); ++i) {
    if ((store.slices.flags[i] & kSliceOutOfRange) == 0) see(store.slices.start_ns[i], store.slices.dur_ns[i]);
  }
  for (std::size_t i = 0; i < store.device_events.size(); ++i) {
    if ((store.device_events.flags[i] & kDeviceNoTiming) == 0)
      see(store.device_events.start_ns[i], store.device_events.dur_ns[i]);
  }
  for (std::size_t i = 0; i < store.memory_events.size(); ++i) see(store.memory_events.time_ns[i], 0);
  for (std::size_t i = 0; i < store.counters.size(); ++i) see(store.counters.time_ns[i], 0);
  return start <= end ? Interval{start, end} : Interval{};
}

}  // namespace

Result<TraceStore> finish_store(TraceBuilder::State& state) {
  TraceStore& store = state.store;
  const std::int64_t base_ns = store.process.base_time_ns.value_or(0);
  std::vector<std::uint32_t> slice_rows;
  std::vector<std::uint32_t> device_rows;
  const bool any_collective = state.staged.collectives.rows != 0;
  pair_begin_ends(state);
  parallel_for(state.thread_count, 2, [&](std::size_t part) {
    if (part == 0) {
      finish_device_events(state, base_ns, any_collective, device_rows);
    } else {
      drain_plain_tables(state);
      add_base(store.device_syncs.start_ns, base_ns);
      add_base(store.device_annotations.start_ns, base_ns);
      add_base(store.memory_events.time_ns, base_ns);
      add_base(store.counters.time_ns, base_ns);
      add_base(store.run_steps.start_ns, base_ns);
      add_base(store.run_steps.end_ns, base_ns);
    }
  });
  finish_slices(state, base_ns, any_collective, slice_rows);
  for (SliceId& op : store.collectives.op) {
    if (op.valid()) op = SliceId(slice_rows[op.value]);
  }
  for (DeviceEventId& kernel : store.collectives.kernel) {
    if (kernel.valid()) kernel = DeviceEventId(device_rows[kernel.value]);
  }
  link_launches(store, state.thread_count);
  name_threads(state);
  find_main_process(store);
  mark_impossible_times(store);
  store.time_range = find_time_range(store);
  store.input.events_by_category = std::move(state.categories);
  return std::move(store);
}

}  // namespace accel
