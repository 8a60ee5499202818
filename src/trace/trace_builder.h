// TraceBuilder: the only way to make a TraceStore. An importer fills TraceBatch objects (one per piece of input, on any
// thread, each with its own local strings and interned tables) and commits them under their sequence number; the store
// that finish() returns depends on the numbers alone, not on which thread came first. Small importers use one batch.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trace/trace_store.h"

namespace accel {

// Rows of one piece of input. Ids in it are local to the batch; times are relative to ProcessInfo::base_time_ns where
// the input has one, which finish() adds. Not thread-safe; reused after commit().
class TraceBatch {
 public:
  TraceBatch();
  ~TraceBatch();
  TraceBatch(TraceBatch&&) noexcept;
  TraceBatch& operator=(TraceBatch&&) noexcept;

  StringId intern(std::string_view text) { return strings.intern(text); }
  ThreadIndex add_thread(std::int64_t pid, std::int64_t tid, StringId pid_text, StringId tid_text);
  StreamIndex add_stream(std::int64_t device, std::int64_t context, std::int64_t stream);
  ArgsId add_op_args(const OpArgsRow& row);
  LaunchConfigId add_launch_config(const LaunchConfigRow& row);

  // A slice with its detail, which may be null. The detail's row number and the slice's `detail` are set here.
  SliceId add_slice(SliceRow row, const OpDetailRow* detail);
  SliceId add_slice(SliceRow row, const CallDetailRow* detail);
  SliceId add_slice(SliceRow row, const FrameDetailRow* detail);
  DeviceEventId add_device_event(DeviceEventRow row, const KernelDetailRow* detail);
  DeviceEventId add_device_event(DeviceEventRow row, const CopyDetailRow* detail);

  // The remaining tables are filled directly: collectives.push(...), counters.push(...). Ids are the batch's own.
#define TABLE_BEGIN(Name, accessor, doc) Name##Table accessor;
#define COLUMN(type, name, unit, doc)
#define TABLE_END(Name)
#include "trace/schema.def"
#undef TABLE_BEGIN
#undef COLUMN
#undef TABLE_END

  // Begin and end events ("ph":"B"/"E"): finish() pairs them per thread and makes slices of the begin's kind, which is
  // op, annotation or other.
  struct BeginEnd {
    std::int64_t time_ns;
    StringId name;
    ThreadIndex thread;
    SliceKind kind;
    bool begin;
  };
  std::vector<BeginEnd> begin_ends;
  // Names of threads, also of ones that never ran anything (device streams); finish() gives them to rows of threads.
  struct ThreadName {
    std::int64_t pid, tid;
    StringId pid_text, tid_text, name;
  };
  std::vector<ThreadName> thread_names;
  // Counts events of a recorded category, for InputInfo::events_by_category; also adds them to `events`.
  void count_events(std::string_view category, std::uint64_t count = 1);

  StringPool strings;
  NoteList notes;
  std::uint64_t events = 0;

  // Forgets everything and keeps the memory.
  void reset();

  struct Index;  // private to trace

 private:
  friend class TraceBuilder;
  std::unique_ptr<Index> index_;
};

class TraceBuilder {
 public:
  explicit TraceBuilder(unsigned threads = 1);
  ~TraceBuilder();
  TraceBuilder(const TraceBuilder&) = delete;
  TraceBuilder& operator=(const TraceBuilder&) = delete;

  // Takes the rows of `batch` as piece number `sequence` (0, 1, 2, ... without gaps, in any order of calls, from any
  // thread; a call whose predecessors are not all in waits for them) and empties the batch for reuse.
  void commit(TraceBatch& batch, std::uint64_t sequence);

  // Metadata that is not rows; one thread, any time before finish().
  ProcessInfo& process();
  InputInfo& input();
  NoteList& notes();
  void set_thread_name(std::int64_t pid, std::int64_t tid, std::string_view name);

  // A point to come back to: the state after the pieces committed so far, which the caller knows to be all up to some
  // sequence number. rewind() drops every row committed since; ids of strings and interned rows stay as they are.
  std::size_t mark();
  void rewind(std::size_t mark);

  // For a job without a device, after the last commit: the outermost ops whose name is work become the work of a device
  // named CPU. Nothing happens where device events were recorded.
  void add_host_device(bool (*is_work)(std::string_view name));

  // Sorts, nests and links everything (parents, depths, launches by correlation) with up to `threads` threads.
  Result<TraceStore> finish();

  struct State;  // private to trace

 private:
  std::unique_ptr<State> state_;
};

}  // namespace accel
