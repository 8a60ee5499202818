#include "trace/trace_builder.h"

#include <utility>

#include "trace/builder_state.h"
#include "trace/finish.h"

namespace accel {

// From the ids of one batch to those of the store.
struct IdMaps {
  std::vector<StringId> strings;
  std::vector<ThreadIndex> threads;
  std::vector<StreamIndex> streams;
  std::vector<ArgsId> op_args;
  std::vector<LaunchConfigId> launch_configs;
  std::uint32_t slice_base = 0;
  std::uint32_t device_event_base = 0;

  template <typename T>
  T operator()(T value) const {
    return value;
  }
  StringId operator()(StringId id) const { return id.valid() ? strings[id.value] : id; }
  ThreadIndex operator()(ThreadIndex id) const { return id.valid() ? threads[id.value] : id; }
  StreamIndex operator()(StreamIndex id) const { return id.valid() ? streams[id.value] : id; }
  ArgsId operator()(ArgsId id) const { return id.valid() ? op_args[id.value] : id; }
  LaunchConfigId operator()(LaunchConfigId id) const { return id.valid() ? launch_configs[id.value] : id; }
  SliceId operator()(SliceId id) const { return id.valid() ? SliceId(id.value + slice_base) : id; }
  DeviceEventId operator()(DeviceEventId id) const {
    return id.valid() ? DeviceEventId(id.value + device_event_base) : id;
  }
};

namespace {

// Columns that finish() makes; they are not staged.
constexpr bool is_derived(std::string_view table, std::string_view column) {
  return (table == "Slice" && (column == "parent" || column == "depth")) ||
         (table == "DeviceEvent" && column == "launch");
}
// Tables whose rows are interned: they are merged under the lock and not staged.
constexpr bool is_interned(std::string_view table) {
  return table == "OpArgs" || table == "LaunchConfig" || table == "Stream" || table == "Thread";
}

template <typename T>
void copy_column(StagedColumn<T>& to, std::size_t base, const std::vector<T>& from, const IdMaps& maps) {
  for (std::size_t done = 0; done < from.size();) {
    T* out = &to[base + done];
    const std::size_t n = std::min(from.size() - done, StagedColumn<T>::contiguous_from(base + done));
    for (std::size_t i = 0; i < n; ++i) out[i] = maps(from[done + i]);
    done += n;
  }
}

}  // namespace

TraceBuilder::TraceBuilder(unsigned threads) : state_(std::make_unique<State>()) { state_->thread_count = threads; }
TraceBuilder::~TraceBuilder() = default;

ProcessInfo& TraceBuilder::process() { return state_->store.process; }
InputInfo& TraceBuilder::input() { return state_->store.input; }
NoteList& TraceBuilder::notes() { return state_->store.notes; }

void TraceBuilder::set_thread_name(std::int64_t pid, std::int64_t tid, std::string_view name) {
  state_->thread_names.push_back({pid, tid, StringId(), StringId(), state_->store.strings.intern(name)});
}

void TraceBuilder::commit(TraceBatch& batch, std::uint64_t sequence) {
  thread_local IdMaps maps;
  State& s = *state_;
  constexpr std::size_t kMaxRows = SliceId::kNone - 1;
#define TABLE_BEGIN(Name, accessor, doc) [[maybe_unused]] std::size_t base_##accessor = 0;
#define COLUMN(type, name, unit, doc)
#define TABLE_END(Name)
#include "trace/schema.def"
#undef TABLE_BEGIN
#undef COLUMN
#undef TABLE_END
  bool fits = true;
  {
    std::unique_lock lock(s.mutex);
    s.turn.wait(lock, [&] { return s.next_sequence == sequence; });
    s.merge(batch, maps);
#define TABLE_BEGIN(Name, accessor, doc) fits = fits && s.staged.accessor.rows + batch.accessor.size() < kMaxRows;
#define COLUMN(type, name, unit, doc)
#define TABLE_END(Name)
#include "trace/schema.def"
#undef TABLE_BEGIN
#undef COLUMN
#undef TABLE_END
    if (fits) {
#define TABLE_BEGIN(Name, accessor, doc)                                                          \
  if (constexpr std::string_view table = #Name; !is_interned(table) && !batch.accessor.empty()) { \
    auto& staged = s.staged.accessor;                                                             \
    base_##accessor = staged.rows;                                                                \
    staged.rows += batch.accessor.size();
#define COLUMN(type, name, unit, doc) \
  if constexpr (!is_derived(table, #name)) staged.name.reserve_rows(staged.rows);
#define TABLE_END(Name) }
#include "trace/schema.def"
#undef TABLE_BEGIN
#undef COLUMN
#undef TABLE_END
    } else {
      s.too_many_rows = true;
    }
    s.store.notes.add_all(batch.notes);
    s.store.input.events += batch.events;
    ++s.next_sequence;
  }
  s.turn.notify_all();

  if (fits) {
    maps.slice_base = static_cast<std::uint32_t>(base_slices);
    maps.device_event_base = static_cast<std::uint32_t>(base_device_events);
    const auto shift = [](DetailId& id, std::size_t base) {
      if (id.valid()) id.value += static_cast<std::uint32_t>(base);
    };
    for (std::size_t i = 0; i < batch.slices.size(); ++i) {
      switch (batch.slices.kind[i]) {
        case SliceKind::runtime_call:
        case SliceKind::driver_call:
          shift(batch.slices.detail[i], base_call_details);
          break;
        case SliceKind::frame:
          shift(batch.slices.detail[i], base_frame_details);
          break;
        default:
          shift(batch.slices.detail[i], base_op_details);
          break;
      }
    }
    for (std::size_t i = 0; i < batch.device_events.size(); ++i) {
      shift(batch.device_events.detail[i],
            batch.device_events.kind[i] == DeviceEventKind::kernel ? base_kernel_details : base_copy_details);
    }
#define TABLE_BEGIN(Name, accessor, doc)                                         \
  if constexpr (constexpr std::string_view table = #Name; !is_interned(table)) { \
    const auto& from = batch.accessor;                                           \
    auto& to = s.staged.accessor;                                                \
    const std::size_t base = base_##accessor;
#define COLUMN(type, name, unit, doc) \
  if constexpr (!is_derived(table, #name)) copy_column(to.name, base, from.name, maps);
#define TABLE_END(Name) }
#include "trace/schema.def"
#undef TABLE_BEGIN
#undef COLUMN
#undef TABLE_END
  }
  batch.reset();
}

std::size_t TraceBuilder::mark() {
  State& s = *state_;
  const std::scoped_lock lock(s.mutex);
  State::Mark mark;
#define TABLE_BEGIN(Name, accessor, doc) mark.rows.push_back(s.staged.accessor.rows);
#define COLUMN(type, name, unit, doc)
#define TABLE_END(Name)
#include "trace/schema.def"
#undef TABLE_BEGIN
#undef COLUMN
#undef TABLE_END
  mark.begin_ends = s.begin_ends.size();
  mark.thread_names = s.thread_names.size();
  mark.categories = s.categories;
  mark.notes = s.store.notes;
  mark.events = s.store.input.events;
  s.marks.push_back(std::move(mark));
  return s.marks.size() - 1;
}

void TraceBuilder::rewind(std::size_t mark_number) {
  State& s = *state_;
  const std::scoped_lock lock(s.mutex);
  const State::Mark& mark = s.marks[mark_number];
  std::size_t table = 0;
#define TABLE_BEGIN(Name, accessor, doc) s.staged.accessor.rows = mark.rows[table++];
#define COLUMN(type, name, unit, doc)
#define TABLE_END(Name)
#include "trace/schema.def"
#undef TABLE_BEGIN
#undef COLUMN
#undef TABLE_END
  s.begin_ends.resize(mark.begin_ends);
  s.thread_names.resize(mark.thread_names);
  s.categories = mark.categories;
  s.store.notes = mark.notes;
  s.store.input.events = mark.events;
}

Result<TraceStore> TraceBuilder::finish() {
  if (state_->too_many_rows) {
    return Error{ErrorCode::out_of_range, "The trace has more than 4.29 billion rows in one table; record fewer steps.",
                 ""};
  }
  if (state_->index.overflowed()) {
    return Error{ErrorCode::out_of_range,
                 "The trace has more than 65,535 threads or streams; this is not a trace of one process.", ""};
  }
  return finish_store(*state_);
}

void TraceBuilder::State::merge(TraceBatch& batch, IdMaps& maps) {
  maps.strings.resize(batch.strings.size());
  for (std::uint32_t i = 0; i < maps.strings.size(); ++i)
    maps.strings[i] = store.strings.intern(batch.strings.view(StringId(i)));
  maps.threads.clear();
  for (std::size_t i = 0; i < batch.threads.size(); ++i) {
    ThreadRow row = batch.threads.row(i);
    row.pid_text = maps(row.pid_text);
    row.tid_text = maps(row.tid_text);
    maps.threads.push_back(ThreadIndex(static_cast<std::uint16_t>(index.threads.add(store.threads, row))));
  }
  maps.streams.clear();
  for (std::size_t i = 0; i < batch.streams.size(); ++i) {
    maps.streams.push_back(
        StreamIndex(static_cast<std::uint16_t>(index.streams.add(store.streams, batch.streams.row(i)))));
  }
  maps.op_args.clear();
  for (std::size_t i = 0; i < batch.op_args.size(); ++i) {
    const OpArgsRow row = batch.op_args.row(i);
    maps.op_args.push_back(ArgsId(
        index.op_args.add(store.op_args, {maps(row.dims), maps(row.types), maps(row.strides), maps(row.concrete)})));
  }
  maps.launch_configs.clear();
  for (std::size_t i = 0; i < batch.launch_configs.size(); ++i) {
    maps.launch_configs.push_back(
        LaunchConfigId(index.launch_configs.add(store.launch_configs, batch.launch_configs.row(i))));
  }
  for (TraceBatch::BeginEnd row : batch.begin_ends) {
    row.name = maps(row.name);
    row.thread = maps(row.thread);
    begin_ends.push_back(row);
  }
  for (TraceBatch::ThreadName row : batch.thread_names) {
    row.pid_text = maps(row.pid_text);
    row.tid_text = maps(row.tid_text);
    row.name = maps(row.name);
    thread_names.push_back(row);
  }
  for (const auto& [category, count] : batch.index_->categories) categories[category] += count;
}

}  // namespace accel
