// From raw events to rows: what each category of event means, in every spelling that recorders have used. One sink per
// thread; it fills the batch it was given.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ingest/kineto_json/event_fields.h"
#include "ingest/kineto_json/exact_reader.h"
#include "ingest/kineto_json/scalars.h"
#include "trace/trace_builder.h"

namespace accel::kineto_json {

// What a recorded category is.
enum class EventClass : std::uint8_t {
  op,
  annotation,
  frame,
  runtime_call,
  driver_call,
  overhead,
  kernel,
  memcpy,
  memset,
  device_annotation,
  device_sync,
  instant,  // cpu_instant_event: [memory]
  span,     // the recorder's own span
  other,
};

// Facts about the whole file that single events tell. Of one piece at first, then added up in the order of the file.
struct FileFacts {
  std::int64_t recorded_from_ns = kNotRecorded;  // the recorder's span
  std::int64_t recorded_to_ns = kNotRecorded;
  // The Rank of collectives: each value and how often. One that is rare beside the others is a damaged digit.
  struct Rank {
    std::int64_t value = kNotRecorded;
    std::uint64_t events = 0;
  };
  std::vector<Rank> ranks;
  // Host processes with ops, calls or frames, and between which offsets their events stand.
  struct Process {
    std::int64_t pid = kNotRecorded;
    std::uint64_t first_offset = 0;
    std::uint64_t last_offset = 0;
    std::uint64_t events = 0;
  };
  std::vector<Process> processes;

  void add(const FileFacts& other);
  void see_rank(std::int64_t value, std::uint64_t events = 1);
  std::int64_t rank() const;  // the one seen most; kNotRecorded if none
  bool several_ranks() const;
  std::size_t process(std::int64_t pid, std::uint64_t offset);
};

class EventSink {
 public:
  explicit EventSink(TraceBatch& batch) : batch_(batch) {}

  void add(const RawEvent& event);
  void add_faults(const StringFaults& faults, std::uint64_t offset);
  // Ends a piece: everything that was only counted so far goes into the batch.
  void flush();
  // Forgets the piece, batch and all.
  void discard();
  // What the events since the last call say about the file.
  FileFacts take_facts();

 private:
  struct Times {
    std::int64_t start_ns = 0;
    std::int64_t dur_ns = 0;
    bool unfinished = false;
  };

  EventClass classify(std::string_view category);
  void add_complete(const RawEvent& event, EventClass kind);
  void add_slice(const RawEvent& event, SliceKind kind, const Times& times);
  void add_kernel(const RawEvent& event, const Times& times);
  void add_copy(const RawEvent& event, EventClass kind, const Times& times);
  void add_collective(const RawEvent& event, SliceId op, DeviceEventId kernel);
  void add_memory_event(const RawEvent& event);
  void add_counters(const RawEvent& event);
  void add_begin_end(const RawEvent& event, EventClass category, bool begin);
  void add_metadata(const RawEvent& event);

  bool read_times(const RawEvent& event, Times& times);
  DeviceEventRow device_row(const RawEvent& event, DeviceEventKind kind, const Times& times);
  StreamIndex stream_of(const RawEvent& event);
  ThreadIndex thread_of(const RawEvent& event);
  ArgsId args_of(const RawEvent& event);
  LaunchConfigId config_of(const RawEvent& event);
  StringId text(std::string_view token);
  std::int64_t integer(std::string_view token);
  std::int32_t integer32(std::string_view token);
  float real(std::string_view token);
  bool time(std::string_view token, std::int64_t& out);
  void note(Parsed parsed);
  void note(NoteCode code, std::uint64_t count = 1, std::string_view detail = {});

  TraceBatch& batch_;
  FileFacts facts_;
  std::string scratch_;
  std::uint64_t offset_ = 0;  // of the event at hand
  std::uint64_t uncategorised_ = 0;
  std::array<std::uint64_t, 40> counts_{};  // by known category

  std::string last_pid_;
  std::string last_tid_;
  ThreadIndex last_thread_;
  std::size_t last_process_ = 0;  // of facts_.processes
};

}  // namespace accel::kineto_json
