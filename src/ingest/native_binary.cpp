// The native format of the runtime SDK (docs/formats/native.md) into a TraceStore: scopes become slices, step marks the
// ranges accel::step#N, data loading the name under which the analyses know it, numbers counters.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/byte_source.h"
#include "base/progress.h"
#include "format/native_reader.h"
#include "format/tick_clock.h"
#include "ingest/catalog.h"
#include "ingest/importer.h"
#include "ingest/native_device.h"
#include "ingest/native_stacks.h"
#include "trace/processor.h"
#include "trace/trace_builder.h"

namespace accel::native_binary {
namespace {

using format::NativeReader;
using format::NativeRows;
using format::NativeSummary;

int sniff(std::span<const char> head, std::string_view /*path*/) { return NativeReader::sniff(head) ? 100 : 0; }

std::int64_t number_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : kNotRecorded;
}

SliceKind kind_of(std::string_view category) {
  if (category == "op" || category == "compute") return SliceKind::op;
  if (category == "frame") return SliceKind::frame;
  return SliceKind::annotation;
}

// Rows arrive table by table; times stay ticks until the last pair of clocks is known.
class Import {
 public:
  explicit Import(TraceBuilder& builder)
      : builder_(builder), device_(batch_, builder.process(), [this](std::uint64_t id) { return text_of(id); }) {}

  bool take(const NativeRows& rows) {
    const std::string_view table = rows.table();
    if (table == "scope") scopes(rows);
    if (table == "step") steps(rows);
    if (table == "counter") counters(rows);
    if (table == "name") names(rows);
    if (table == "args") args(rows);
    if (table == "clock") clocks(rows);
    if (table == "thread") threads(rows);
    if (table == "meta") meta(rows);
    if (table == "counter_info") counter_infos(rows);
    if (table == "mark") marks(rows);
    if (table == "note") notes(rows);
    if (table == "window") windows(rows);
    if (table == "curve") curve(rows);
    if (table == "cost") cost(rows);
    if (table == "device") device_.devices(rows);
    if (table == "launch") device_.launches(rows);
    if (table == "device_event") device_.events(rows);
    if (table == "call") device_.calls(rows, pid_);
    if (table == "function") stacks_.functions(rows);
    if (table == "frame") stacks_.frames(rows);
    if (table == "stack") stacks_.stacks(rows);
    if (table == "collective") collectives(rows);
    return true;
  }

  void finish(const NativeSummary& summary, ByteSource& source, const ImportOptions& options) {
    builder_.notes().add(NoteCode::dropped_buffers, other_losses_, "", std::move(other_losses_text_));
    settle_process(summary, options);
    settle_times();
    add_host_work();
    InputInfo& input = builder_.input();
    input.path = source.name();
    input.format = "native_binary";
    input.bytes = source.total_bytes();
    input.text_bytes = summary.bytes;
    settle_notes(summary, source);
    batch_.events = batch_.slices.size() + batch_.counters.size() + batch_.device_events.size();
    builder_.commit(batch_, 0);
  }

 private:
  struct Name {
    StringId text;
    SliceKind kind;
    bool compute = false;
  };

  void names(const NativeRows& rows);
  void args(const NativeRows& rows);
  void clocks(const NativeRows& rows);
  void threads(const NativeRows& rows);
  void meta(const NativeRows& rows);
  void scopes(const NativeRows& rows);
  void steps(const NativeRows& rows);
  void counter_infos(const NativeRows& rows);
  void counters(const NativeRows& rows);
  void marks(const NativeRows& rows);
  void notes(const NativeRows& rows);
  void windows(const NativeRows& rows);
  void curve(const NativeRows& rows);
  void cost(const NativeRows& rows);
  void collectives(const NativeRows& rows);
  StringId text_of(std::uint64_t name);
  ThreadIndex thread_of(std::uint64_t number);
  ThreadIndex thread_of_tid(std::int64_t tid);
  void settle_process(const NativeSummary& summary, const ImportOptions& options);
  void settle_times();
  void settle_notes(const NativeSummary& summary, const ByteSource& source);
  void add_host_work();
  void add_slice(std::uint64_t begin, std::uint64_t end, const Name& name, ThreadIndex thread, ArgsId arguments);

  TraceBuilder& builder_;
  TraceBatch batch_;
  DeviceImport device_;
  StackImport stacks_;
  std::unordered_map<std::uint64_t, Name> names_;
  std::unordered_map<std::uint64_t, ArgsId> args_;
  std::unordered_map<std::uint64_t, std::int64_t> tids_;  // thread number -> tid
  std::unordered_map<std::uint64_t, StringId> counter_names_;
  std::vector<format::TickClock::Pair> pairs_;
  std::int64_t pid_ = kNotRecorded;
  std::int64_t marking_tid_ = kNotRecorded;
  std::uint64_t other_losses_ = 0;  // what the recorder says is missing, where no code of the engine fits
  std::string other_losses_text_;
  std::uint64_t tick_hz_ = 0;
  std::uint64_t window_begin_ = format::kNoU64;
  std::uint64_t window_end_ = format::kNoU64;
  bool any_figures_ = false;      // of steps
  std::vector<SliceId> compute_;  // slices of the category compute
};

void Import::names(const NativeRows& rows) {
  const auto id = rows.column("id");
  const auto category = rows.column("category");
  const auto name = rows.column("name");
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    // Waits for data bear the name under which every analysis knows them.
    const bool loading = category.text(row) == "data_loading";
    const StringId text = loading ? batch_.intern("enumerate(DataLoader)#" + std::string(name.text(row)) + ".__next__")
                                  : batch_.intern(name.text(row));
    names_[id.u64(row)] = {text, kind_of(category.text(row)), category.text(row) == "compute"};
  }
}

void Import::args(const NativeRows& rows) {
  const auto id = rows.column("id");
  const auto shape = rows.column("shape");
  const auto dtype = rows.column("dtype");
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    args_[id.u64(row)] =
        batch_.add_op_args({batch_.intern(shape.text(row)), batch_.intern(dtype.text(row)), StringId(0), StringId(0)});
  }
}

void Import::clocks(const NativeRows& rows) {
  const auto ticks = rows.column("ticks");
  const auto realtime = rows.column("realtime_ns");
  const auto monotonic = rows.column("monotonic_ns");
  for (std::uint32_t row = 0; row < rows.size(); ++row)
    pairs_.push_back({ticks.u64(row), realtime.i64(row), monotonic.i64(row), 0});
}

void Import::threads(const NativeRows& rows) {
  const auto thread = rows.column("thread");
  const auto tid = rows.column("tid");
  const auto name = rows.column("name");
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    tids_[thread.u64(row)] = tid.i64(row);
    if (!name.text(row).empty()) builder_.set_thread_name(pid_, tid.i64(row), name.text(row));
  }
}

void Import::meta(const NativeRows& rows) {
  const auto key = rows.column("key");
  const auto value = rows.column("value");
  ProcessInfo& process = builder_.process();
  constexpr std::size_t kMostTopologyText = std::size_t{1} << 20;
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    const std::string_view name = key.text(row);
    const std::int64_t number = number_of(value.text(row));
    if (name == "pid") pid_ = number;
    if (name == "host") process.host = value.text(row);
    if (name == "rank" && number >= 0) process.rank = number;
    if (name == "world_size" && number > 0) process.world_size = number;
    if (name == "tick_hz" && number > 0) tick_hz_ = static_cast<std::uint64_t>(number);
    if (name == "recorder") {
      process.versions["recorder"] = value.text(row);
    } else if (name.starts_with("topology.")) {
      std::string& topology = process.options["topology"];  // its parts stand in order
      if (topology.size() < kMostTopologyText) topology += value.text(row);
    } else {
      process.options[std::string(name)] = value.text(row);
    }
  }
}

StringId Import::text_of(std::uint64_t name) {
  const auto known = names_.find(name);
  return known != names_.end() ? known->second.text : batch_.intern("(name lost)");
}

ThreadIndex Import::thread_of_tid(std::int64_t tid) { return batch_.add_thread(pid_, tid, StringId(0), StringId(0)); }

ThreadIndex Import::thread_of(std::uint64_t number) {
  const auto known = tids_.find(number);
  return thread_of_tid(known != tids_.end() ? known->second : static_cast<std::int64_t>(number & 0xffffffff));
}

void Import::add_slice(std::uint64_t begin, std::uint64_t end, const Name& name, ThreadIndex thread, ArgsId arguments) {
  SliceRow slice;
  slice.start_ns = static_cast<std::int64_t>(begin);  // ticks until settle_times
  slice.dur_ns = end == format::kNoU64 || end < begin ? -1 : static_cast<std::int64_t>(end);
  slice.name = name.text;
  slice.thread = thread;
  slice.kind = name.kind;
  const OpDetailRow detail{kNotRecorded, kNotRecorded, arguments, kNotRecorded32};
  const SliceId id = batch_.add_slice(slice, arguments.valid() ? &detail : nullptr);
  if (name.compute) compute_.push_back(id);
}

void Import::scopes(const NativeRows& rows) {
  const auto begin = rows.column("begin");
  const auto end = rows.column("end");
  const auto name = rows.column("name");
  const auto arguments = rows.column("args");
  const auto thread = rows.column("thread");
  std::uint64_t last_thread = format::kNoU64;
  ThreadIndex index;
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    if (!index.valid() || thread.u64(row) != last_thread) index = thread_of(last_thread = thread.u64(row));
    auto known = names_.find(name.u64(row));
    if (known == names_.end())
      known = names_.emplace(name.u64(row), Name{batch_.intern("(name lost)"), SliceKind::annotation}).first;
    const auto shape = args_.find(arguments.u64(row));
    add_slice(begin.u64(row), end.u64(row), known->second, index, shape == args_.end() ? ArgsId() : shape->second);
  }
}

void Import::steps(const NativeRows& rows) {
  const auto step = rows.column("step");
  const auto begin = rows.column("begin");
  const auto end = rows.column("end");
  const auto tid = rows.column("tid");
  const auto loss = rows.column("loss");
  const auto wait = rows.column("loader_wait_ns");
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    if (tid.i64(row) != kNotRecorded) marking_tid_ = tid.i64(row);
    const Name name{batch_.intern("accel::step#" + std::to_string(step.i64(row))), SliceKind::annotation};
    add_slice(begin.u64(row), end.u64(row), name, thread_of_tid(marking_tid_), ArgsId());
    const auto at = static_cast<std::int64_t>(end.u64(row));
    if (!std::isnan(loss.f64(row)) || wait.i64(row) != kNotRecorded) any_figures_ = true;
    if (!std::isnan(loss.f64(row))) batch_.counters.push({at, loss.f64(row), batch_.intern("loss")});
    if (wait.i64(row) != kNotRecorded)
      batch_.counters.push({at, static_cast<double>(wait.i64(row)) * 1e-6, batch_.intern("dataloader_wait_ms")});
  }
}

void Import::counter_infos(const NativeRows& rows) {
  const auto id = rows.column("id");
  const auto name = rows.column("name");
  const auto unit = rows.column("unit");
  const auto source = rows.column("source");
  const auto refresh = rows.column("refresh_ns");
  const auto kind = rows.column("kind");  // not in files of version 1.0
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    const StringId interned = batch_.intern(name.text(row));
    counter_names_[id.u64(row)] = interned;
    batch_.counter_infos.push({std::max<std::int64_t>(0, refresh.i64(row)), interned, batch_.intern(unit.text(row)),
                               batch_.intern(source.text(row)),
                               static_cast<std::uint8_t>(kind.present() && kind.u64(row) <= 2 ? kind.u64(row) : 0)});
  }
}

void Import::counters(const NativeRows& rows) {
  const auto time = rows.column("time");
  const auto value = rows.column("value");
  const auto id = rows.column("id");
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    const auto name = counter_names_.find(id.u64(row));
    if (name == counter_names_.end() || std::isnan(value.f64(row)))
      continue;  // a NaN is a sample that could not be taken
    batch_.counters.push({static_cast<std::int64_t>(time.u64(row)), value.f64(row), name->second});
  }
}

void Import::marks(const NativeRows& rows) {
  const auto time = rows.column("time");
  const auto label = rows.column("label");
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    add_slice(time.u64(row), time.u64(row), {batch_.intern(label.text(row)), SliceKind::annotation},
              thread_of_tid(marking_tid_), ArgsId());
  }
}

// What the recorder itself found wrong, under the code of the engine; its own sentence is the detail. A code of a newer
// recorder is told by its severity: one note has all of them, each with its own remedy.
void Import::notes(const NativeRows& rows) {
  struct Known {
    std::string_view code;
    NoteCode note;
  };
  constexpr Known kKnown[] = {
      {"hang", NoteCode::job_hung},
      {"not_steady", NoteCode::steps_not_steady},
      {"dropped_records", NoteCode::recorder_records_lost},
      {"refused_threads", NoteCode::recorder_records_lost},
      {"dropped_steps", NoteCode::recorder_records_lost},
      {"write_failed", NoteCode::recorder_records_lost},
      {"thinned", NoteCode::recorder_thinned},
      {"cost", NoteCode::recorder_cost},
      {"sampler_absent", NoteCode::counters_absent},
      {"stacks_absent", NoteCode::counters_absent},
      {"shared_memory", NoteCode::shared_memory_small},
      {"action", NoteCode::action_not_carried_out},
      {"no_agreement", NoteCode::ranks_did_not_agree},
      {"clock_set", NoteCode::clock_was_set},
      {"suspended", NoteCode::process_was_suspended},
  };
  const auto code = rows.column("code");
  const auto count = rows.column("count");
  const auto message = rows.column("message");
  const auto remedy = rows.column("remedy");
  const auto severity = rows.column("severity");
  constexpr std::size_t kMostLossText = 1500;
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    const std::string said(message.text(row));
    const auto known = std::find_if(std::begin(kKnown), std::end(kKnown),
                                    [&](const Known& entry) { return entry.code == code.text(row); });
    if (known != std::end(kKnown)) {
      builder_.notes().add(known->note, count.u64(row), "", said);
    } else if (severity.u64(row) >= 1) {
      other_losses_ += count.u64(row);
      if (other_losses_text_.size() < kMostLossText)
        other_losses_text_ +=
            (other_losses_text_.empty() ? "" : "; ") + said + " (" + std::string(remedy.text(row)) + ")";
    }
  }
}

void Import::curve(const NativeRows& rows) {
  const auto step = rows.column("step");
  const auto begin = rows.column("begin");
  const auto end = rows.column("end");
  const auto wait = rows.column("loader_wait_ns");
  const auto loss = rows.column("loss");
  const auto samples = rows.column("samples");
  const auto epoch = rows.column("epoch");
  const auto longest = rows.column("longest_us");
  const auto steps = rows.column("steps");
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    const std::uint64_t count = steps.u64(row);
    const bool sound = step.i64(row) >= 0 && end.u64(row) >= begin.u64(row) && count >= 1 && count <= 0xffffffff;
    if (!sound) continue;
    batch_.run_steps.push({step.i64(row), static_cast<std::int64_t>(begin.u64(row)),
                           static_cast<std::int64_t>(end.u64(row)), longest.i64(row), wait.i64(row), epoch.i64(row),
                           loss.f64(row), samples.f64(row), static_cast<std::uint32_t>(count)});
  }
}

void Import::cost(const NativeRows& rows) {
  const double percent = rows.column("percent").f64(0);
  if (std::isfinite(percent) && percent >= 0) {
    char text[32];
    const auto [end, error] = std::to_chars(text, text + sizeof text, percent, std::chars_format::fixed, 2);
    if (error == std::errc()) builder_.process().options["cost_percent"] = std::string(text, end);
  }
}

// "AllReduce" as PyTorch calls the range around it: nccl:all_reduce.
std::string range_of(std::string_view function) {
  std::string range = "nccl:";
  for (std::size_t i = 0; i < function.size(); ++i) {
    const bool upper = function[i] >= 'A' && function[i] <= 'Z';
    if (upper && i > 0) range += '_';
    range += upper ? static_cast<char>(function[i] - 'A' + 'a') : function[i];
  }
  return range;
}

// Each operation is the range on the host in which NCCL launched it, with what describes it.
void Import::collectives(const NativeRows& rows) {
  const auto begin = rows.column("begin");
  const auto end = rows.column("end");
  const auto communicator = rows.column("communicator");
  const auto sequence = rows.column("sequence");
  const auto bytes = rows.column("bytes");
  const auto peer = rows.column("peer");
  const auto rank = rows.column("rank");
  const auto ranks = rows.column("ranks");
  const auto tid = rows.column("tid");
  const auto function = rows.column("function");
  const auto dtype = rows.column("dtype");
  const auto algorithm = rows.column("algorithm");
  const auto group = rows.column("group");
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    const std::string_view name = function.text(row);
    SliceRow slice;
    slice.start_ns = static_cast<std::int64_t>(begin.u64(row));  // ticks until settle_times
    slice.dur_ns =
        end.u64(row) >= begin.u64(row) && end.u64(row) != format::kNoU64 ? static_cast<std::int64_t>(end.u64(row)) : -1;
    slice.name = batch_.intern(range_of(name));
    slice.thread = thread_of_tid(tid.i64(row));
    slice.kind = SliceKind::annotation;
    CollectiveRow collective;
    collective.op = batch_.add_slice(slice, static_cast<const OpDetailRow*>(nullptr));
    collective.sequence = sequence.u64(row) == format::kNoU64 ? kNotRecorded : sequence.i64(row);
    const std::string_view type = dtype.text(row).starts_with("nccl") ? dtype.text(row).substr(4) : dtype.text(row);
    const std::int64_t size = type.ends_with("64") ? 8 : type.ends_with("32") ? 4 : type.ends_with("16") ? 2 : 1;
    const std::int64_t elements = bytes.u64(row) > 0 && bytes.i64(row) > 0 ? bytes.i64(row) / size : kNotRecorded;
    collective.in_elements = collective.out_elements = elements;
    collective.group_size = ranks.i64(row) > 0 ? ranks.i64(row) : kNotRecorded;
    const bool sends = name == "Send";
    const bool point_to_point = sends || name == "Recv";
    collective.source_rank = point_to_point ? (sends ? rank.i64(row) : peer.i64(row)) : kNotRecorded;
    collective.destination_rank = point_to_point ? (sends ? peer.i64(row) : rank.i64(row)) : kNotRecorded;
    collective.name = batch_.intern(range_of(name).substr(5));
    collective.dtype = batch_.intern(type);
    char id[24] = {};
    const auto [stop, error] = std::to_chars(id, id + sizeof id - 1, communicator.u64(row), 16);
    collective.group_name = batch_.intern(error == std::errc() ? std::string_view(id, stop) : std::string_view());
    std::string description(group.text(row));
    if (!algorithm.text(row).empty())
      description += (description.empty() ? "" : " ") + std::string(algorithm.text(row));
    collective.group_description = batch_.intern(description);
    batch_.collectives.push(collective);
  }
}

void Import::windows(const NativeRows& rows) {
  window_begin_ = rows.column("begin").u64(0);
  window_end_ = rows.column("end").u64(0);
  builder_.process().options["ended_by"] = rows.column("ended_by").text(0);
}

void Import::settle_process(const NativeSummary& summary, const ImportOptions& options) {
  ProcessInfo& process = builder_.process();
  process.main_pid = pid_;
  process.base_time_ns = 0;
  process.versions["format"] = std::to_string(summary.header.major) + "." + std::to_string(summary.header.minor);
  if (options.rank) process.rank = options.rank;
}

void Import::settle_times() {
  const format::TickClock clock(pairs_, tick_hz_);
  const auto to_ns = [&](std::int64_t ticks) { return clock.to_ns(static_cast<std::uint64_t>(ticks)); };
  for (std::size_t i = 0; i < batch_.slices.size(); ++i) {
    const std::int64_t start = to_ns(batch_.slices.start_ns[i]);
    const std::int64_t end = batch_.slices.dur_ns[i];
    batch_.slices.start_ns[i] = start;
    batch_.slices.dur_ns[i] = end < 0 ? 0 : std::max<std::int64_t>(0, to_ns(end) - start);
    if (end < 0) batch_.slices.flags[i] |= kSliceUnfinished;
  }
  for (std::int64_t& time : batch_.counters.time_ns) time = to_ns(time);
  for (std::size_t i = 0; i < batch_.run_steps.size(); ++i) {
    batch_.run_steps.start_ns[i] = to_ns(batch_.run_steps.start_ns[i]);
    batch_.run_steps.end_ns[i] = to_ns(batch_.run_steps.end_ns[i]);
    std::int64_t& longest = batch_.run_steps.longest_ns[i];
    if (longest >= 0) longest *= 1000;
  }
  device_.settle(clock);
  if (std::string stacks = stacks_.settle(clock); !stacks.empty())
    builder_.process().options[std::string(kPythonStacks)] = std::move(stacks);
  if (window_begin_ != format::kNoU64 && window_end_ != format::kNoU64) {
    builder_.process().recorded = Interval{clock.to_ns(window_begin_), clock.to_ns(window_end_)};
  }
  if (any_figures_) {
    batch_.counter_infos.push({0, batch_.intern("loss"), batch_.intern(""), batch_.intern("step"), 0});
    batch_.counter_infos.push({0, batch_.intern("dataloader_wait_ms"), batch_.intern("ms"), batch_.intern("step"), 0});
  }
  if (pairs_.empty()) builder_.notes().add(NoteCode::no_time_base);
}

// The device of a job without one is the processor: its compute scopes are what the steps are for, and time without any
// is idle time that has a cause. The call gives each piece of work its step, as a launch does.
void Import::add_host_work() {
  if (compute_.empty() || !device_.empty()) return;
  const StringId run = batch_.intern("accel::run");
  for (std::size_t i = 0; i < compute_.size(); ++i) {
    const SliceRow work = batch_.slices.row(compute_[i].value);
    if ((work.flags & kSliceUnfinished) != 0) continue;
    SliceRow call;
    call.start_ns = work.start_ns;
    call.name = run;
    call.thread = work.thread;
    call.kind = SliceKind::driver_call;
    const CallDetailRow link{static_cast<std::int64_t>(i) + 1, kNotRecorded};
    batch_.add_slice(call, &link);
    DeviceEventRow event;
    event.start_ns = work.start_ns;
    event.dur_ns = work.dur_ns;
    event.correlation = static_cast<std::int64_t>(i) + 1;
    event.external_id = kNotRecorded;
    event.name = work.name;
    event.stream = batch_.add_stream(0, 0, batch_.threads.tid[work.thread.value]);
    event.kind = DeviceEventKind::kernel;
    batch_.add_device_event(event, static_cast<const KernelDetailRow*>(nullptr));
  }
  DeviceProperties processor;
  processor.name = kProcessorName;
  builder_.process().devices.push_back(processor);
}

void Import::settle_notes(const NativeSummary& summary, const ByteSource& source) {
  NoteList& list = builder_.notes();
  const std::uint64_t whole = summary.bytes - summary.cut_bytes;
  if (!summary.ended)
    list.add(NoteCode::truncated, 1, "byte " + std::to_string(whole), std::to_string(summary.rows) + " rows were kept");
  if (summary.damaged_bytes > 0 || summary.missing_chunks > 0) {
    list.add(NoteCode::compressed_stream_cut, std::max<std::uint64_t>(1, summary.missing_chunks),
             summary.first_damage == format::kNoU64 ? "" : "byte " + std::to_string(summary.first_damage),
             std::to_string(summary.damaged_bytes) + " bytes were skipped");
  }
  if (summary.unknown_tables > 0) list.add(NoteCode::unknown_event_kind, summary.unknown_tables);
  if (!source.damage().empty()) list.add(NoteCode::compressed_stream_cut, 1, "", source.damage());
}

Result<TraceStore> read(ByteSource& source, const ImportOptions& options) {
  TraceBuilder builder(options.threads == 0 ? 1 : options.threads);
  Import import(builder);
  bool cancelled = false;
  const auto pull = [&](std::span<char> to) -> Result<std::size_t> {
    if (options.progress != nullptr)
      cancelled = options.progress->report("reading", source.bytes_read(), source.total_bytes());
    return source.read(to);
  };
  const Result<NativeSummary> summary =
      NativeReader::read(pull, [&](const NativeRows& rows) { return !cancelled && import.take(rows); });
  if (!summary) {
    Error error = summary.error();
    error.where = error.where.empty() ? source.name() : source.name() + ", " + error.where;
    return error;
  }
  import.finish(*summary, source, options);
  Result<TraceStore> store = builder.finish();
  if (store && store->slices.empty() && store->counters.empty() && store->run_steps.empty())
    store->notes.add(NoteCode::no_events);
  return store;
}

}  // namespace

const ImporterDescriptor kImporter = {
    "native_binary", "accel-profiler native capture", "accel-profiler 原生采集文件", ".accel", sniff, read,
};

}  // namespace accel::native_binary
