// TraceStore: everything that one rank's trace holds, as linked, sorted columns. Made by TraceBuilder::finish and
// constant from then on: any number of threads may read it.
//
// Order: slices by (thread, start, longer first, input order); device_events by (device, start, input order); the other
// tables in input order. Times are absolute int64 ns (base + ts) where the input has a base.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/interval_set.h"
#include "base/string_pool.h"
#include "trace/notes.h"
#include "trace/schema.h"

namespace accel {

struct DeviceProperties {
  std::int64_t index = 0;
  std::string name;
  std::int64_t total_memory_bytes = kNotRecorded;
  std::int32_t sms = kNotRecorded32;
  std::int32_t compute_major = kNotRecorded32;
  std::int32_t compute_minor = kNotRecorded32;
  std::int32_t max_threads_per_sm = kNotRecorded32;
  std::int32_t registers_per_sm = kNotRecorded32;
  std::int64_t shared_memory_per_sm = kNotRecorded;
  std::int32_t warp_size = kNotRecorded32;
};

struct ProcessInfo {
  std::optional<std::int64_t> rank;
  bool rank_guessed = false;
  std::optional<std::int64_t> world_size;
  std::string backend;  // distributedInfo.backend
  std::string host;
  std::int64_t main_pid = kNotRecorded;      // process that owns most host events
  std::optional<std::int64_t> base_time_ns;  // baseTimeNanoseconds
  std::optional<Interval> recorded;          // from when to when the recorder ran, where it says so
  std::vector<DeviceProperties> devices;
  std::map<std::string, std::string> versions;  // schemaVersion, cuda_runtime_version, cupti_version, ...
  std::map<std::string, std::string> options;   // record_shapes, with_stack, profile_memory, ...
  std::string distributed_info;                 // JSON text as recorded
};

struct InputInfo {
  std::string path;
  std::string format;                                       // id of the importer
  std::uint64_t bytes = 0;                                  // of the file on disk
  std::uint64_t text_bytes = 0;                             // after decompression
  std::uint64_t events = 0;                                 // every event element seen, kept or not
  std::map<std::string, std::uint64_t> events_by_category;  // by recorded category ("" = none)
};

struct TraceStore {
#define TABLE_BEGIN(Name, accessor, doc) Name##Table accessor;
#define COLUMN(type, name, unit, doc)
#define TABLE_END(Name)
#include "trace/schema.def"
#undef TABLE_BEGIN
#undef COLUMN
#undef TABLE_END

  StringPool strings;
  ProcessInfo process;
  InputInfo input;
  NoteList notes;

  // [first, last) row of slices of each thread; empty ranges allowed. Same length as threads.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> thread_ranges;
  // Distinct device indices that ran something, ascending, and their [first, last) rows of device_events.
  struct DeviceRange {
    std::int64_t device = 0;
    std::uint32_t first = 0;
    std::uint32_t last = 0;
  };
  std::vector<DeviceRange> device_ranges;
  // First start to last end of everything with a time; events without a usable time and metadata do not count.
  Interval time_range;

  std::string_view text(StringId id) const { return strings.view(id); }
  std::int64_t slice_end_ns(SliceId id) const { return slices.start_ns[id.value] + slices.dur_ns[id.value]; }
  std::int64_t device_end_ns(DeviceEventId id) const {
    return device_events.start_ns[id.value] + device_events.dur_ns[id.value];
  }
  // Rows of slices launched by or linked to `call`: see DeviceEvent.launch for the reverse.
  bool is_call(SliceId id) const {
    const SliceKind kind = slices.kind[id.value];
    return kind == SliceKind::runtime_call || kind == SliceKind::driver_call;
  }
  // The innermost op (else annotation) that encloses the slice on its thread, the slice itself included; invalid if
  // none.
  SliceId enclosing_op(SliceId id) const;
  // Bytes of all columns (capacity), without strings.
  std::size_t column_bytes() const;
};

}  // namespace accel
