#include "ingest/kineto_json/event_sink.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "ingest/kineto_json/scalars.h"

namespace accel::kineto_json {
namespace {

struct Category {
  std::string_view name;
  EventClass kind;
};

// Recorders of all ages: torch 1.8 wrote Operator, Kernel, ...; ROCm and XPU write their own names for calls.
constexpr Category kCategories[] = {
    {"cpu_op", EventClass::op},
    {"cuda_runtime", EventClass::runtime_call},
    {"kernel", EventClass::kernel},
    {"python_function", EventClass::frame},
    {"cuda_driver", EventClass::driver_call},
    {"gpu_memcpy", EventClass::memcpy},
    {"gpu_memset", EventClass::memset},
    {"user_annotation", EventClass::annotation},
    {"gpu_user_annotation", EventClass::device_annotation},
    {"cpu_instant_event", EventClass::instant},
    {"overhead", EventClass::overhead},
    {"cuda_sync", EventClass::device_sync},
    {"Trace", EventClass::span},
    {"ac2g", EventClass::other},
    {"fwdbwd", EventClass::other},
    {"async_cpu_to_gpu", EventClass::other},
    {"Operator", EventClass::op},
    {"Runtime", EventClass::runtime_call},
    {"Kernel", EventClass::kernel},
    {"Memcpy", EventClass::memcpy},
    {"Memset", EventClass::memset},
    {"UserAnnotation", EventClass::annotation},
    {"hip_runtime", EventClass::runtime_call},
    {"hip_driver", EventClass::driver_call},
    {"xpu_runtime", EventClass::runtime_call},
    {"xpu_driver", EventClass::driver_call},
    {"mtia_runtime", EventClass::runtime_call},
    {"privateuse1_runtime", EventClass::runtime_call},
    {"privateuse1_driver", EventClass::driver_call},
    {"async", EventClass::other},
};
constexpr std::size_t kKnown = std::size(kCategories);

consteval std::array<std::string_view, kKnown> category_names() {
  std::array<std::string_view, kKnown> names;
  for (std::size_t i = 0; i < kKnown; ++i) names[i] = kCategories[i].name;
  return names;
}
constexpr KeyTable<kKnown> kCategoryTable{category_names()};

// Times further than this from the origin are no times: with a base and a duration they would leave int64.
constexpr std::int64_t kFarthest = 4'000'000'000'000'000'000;
constexpr std::int64_t kLongest = 1'000'000'000'000'000'000;

CopyDirection direction_of(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("HtoD") || has("HostToDevice")) return CopyDirection::host_to_device;
  if (has("DtoH") || has("DeviceToHost")) return CopyDirection::device_to_host;
  if (has("PtoP") || has("PeerToPeer")) return CopyDirection::peer;
  if (has("DtoD") || has("DeviceToDevice") || has("AtoD") || has("DtoA") || has("AtoA"))
    return CopyDirection::device_to_device;
  if (has("HtoH") || has("HostToHost")) return CopyDirection::host_to_host;
  return has("HtoA")   ? CopyDirection::host_to_device
         : has("AtoH") ? CopyDirection::device_to_host
                       : CopyDirection::unknown;
}

MemoryKind memory_kind(std::string_view word) {
  if (word == "Pageable") return MemoryKind::pageable;
  if (word == "Pinned") return MemoryKind::pinned;
  if (word == "Device" || word == "Device Static") return MemoryKind::device;
  if (word == "Managed" || word == "Managed Static") return MemoryKind::managed;
  return word == "Array" ? MemoryKind::array : MemoryKind::unknown;
}

// "Memcpy HtoD (Pageable -> Device)", "Memset (Device)".
void read_kinds(std::string_view name, CopyDetailRow& row) {
  const std::size_t open = name.rfind('(');
  const std::size_t close = name.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return;
  const std::string_view inside = name.substr(open + 1, close - open - 1);
  const std::size_t arrow = inside.find(" -> ");
  if (arrow == std::string_view::npos) {
    row.destination = memory_kind(inside);
    return;
  }
  row.source = memory_kind(inside.substr(0, arrow));
  row.destination = memory_kind(inside.substr(arrow + 4));
}

// The three numbers of "[136, 1, 1]".
void read_triple(std::string_view token, std::int32_t& x, std::int32_t& y, std::int32_t& z) {
  std::int32_t* const out[] = {&x, &y, &z};
  std::size_t i = 0;
  for (std::int32_t* value : out) {
    while (i < token.size() && (token[i] < '0' || token[i] > '9')) ++i;
    if (i == token.size()) return;
    std::int64_t n = 0;
    for (; i < token.size() && token[i] >= '0' && token[i] <= '9' && n < std::numeric_limits<std::int32_t>::max();
         ++i) {
      n = n * 10 + (token[i] - '0');
    }
    *value = static_cast<std::int32_t>(std::min<std::int64_t>(n, std::numeric_limits<std::int32_t>::max()));
  }
}

}  // namespace

void FileFacts::see_rank(std::int64_t value, std::uint64_t events) {
  if (value == kNotRecorded) return;
  const auto known = std::find_if(ranks.begin(), ranks.end(), [&](const Rank& rank) { return rank.value == value; });
  constexpr std::size_t kMost = 64;  // the rest share one entry: so many ranks in one file are no question of two
  if (known != ranks.end()) {
    known->events += events;
  } else if (ranks.size() < kMost) {
    ranks.push_back({value, events});
  } else {
    ranks.back().events += events;
  }
}

std::int64_t FileFacts::rank() const {
  Rank most;
  for (const Rank& rank : ranks) {
    if (rank.events > most.events) most = rank;
  }
  return most.value;
}

bool FileFacts::several_ranks() const {
  std::uint64_t all = 0;
  std::uint64_t most = 0;
  for (const Rank& rank : ranks) {
    all += rank.events;
    most = std::max(most, rank.events);
  }
  return (all - most) * 20 > all;
}

std::size_t FileFacts::process(std::int64_t pid, std::uint64_t offset) {
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (processes[i].pid == pid) return i;
  }
  constexpr std::size_t kMost = 64;  // the rest share one entry: a file of so many processes is no question of two
  if (processes.size() == kMost) return kMost - 1;
  processes.push_back({pid, offset, offset, 0});
  return processes.size() - 1;
}

void FileFacts::add(const FileFacts& other) {
  if (other.recorded_from_ns != kNotRecorded) {
    recorded_from_ns =
        recorded_from_ns == kNotRecorded ? other.recorded_from_ns : std::min(recorded_from_ns, other.recorded_from_ns);
    recorded_to_ns =
        recorded_to_ns == kNotRecorded ? other.recorded_to_ns : std::max(recorded_to_ns, other.recorded_to_ns);
  }
  for (const Process& piece : other.processes) {
    Process& whole = processes[process(piece.pid, piece.first_offset)];
    whole.last_offset = std::max(whole.last_offset, piece.last_offset);
    whole.events += piece.events;
  }
  for (const Rank& rank : other.ranks) see_rank(rank.value, rank.events);
}

// The place is only written out for the first note of a kind: text for each of a million would cost more than reading.
void EventSink::note(NoteCode code, std::uint64_t count, std::string_view detail) {
  if (batch_.notes.find(code) != nullptr) {
    batch_.notes.add(code, count);
  } else {
    batch_.notes.add(code, count, "byte " + std::to_string(offset_), std::string(detail));
  }
}

void EventSink::note(Parsed parsed) {
  switch (parsed) {
    case Parsed::not_a_number:
      note(NoteCode::not_a_number);
      break;
    case Parsed::out_of_range:
      note(NoteCode::number_out_of_range);
      break;
    case Parsed::rounded:
      note(NoteCode::finer_than_ns);
      break;
    case Parsed::ok:
    case Parsed::absent:
      break;
  }
}

void EventSink::add_faults(const StringFaults& faults, std::uint64_t offset) {
  offset_ = offset;
  if (faults.control_characters != 0) note(NoteCode::repaired_control_character, faults.control_characters);
  if (faults.bad_utf8 != 0) note(NoteCode::repaired_utf8, faults.bad_utf8);
}

void EventSink::discard() {
  batch_.reset();
  counts_.fill(0);
  uncategorised_ = 0;
  last_thread_ = ThreadIndex();
  facts_ = FileFacts();
}

FileFacts EventSink::take_facts() {
  last_thread_ = ThreadIndex();  // it also stands for a row of facts_.processes
  return std::exchange(facts_, FileFacts());
}

std::int64_t EventSink::integer(std::string_view token) {
  std::int64_t value = kNotRecorded;
  if (token.empty()) return value;
  const Parsed parsed = parse_integer(token, value);
  if (parsed == Parsed::ok) return value;
  note(parsed);
  return kNotRecorded;
}

std::int32_t EventSink::integer32(std::string_view token) {
  const std::int64_t value = integer(token);
  if (value == kNotRecorded) return kNotRecorded32;
  if (value <= kNotRecorded32 || value > std::numeric_limits<std::int32_t>::max()) {
    note(Parsed::out_of_range);
    return kNotRecorded32;
  }
  return static_cast<std::int32_t>(value);
}

float EventSink::real(std::string_view token) {
  double value = -1;
  if (token.empty()) return -1;
  const Parsed parsed = parse_float(token, value);
  if (parsed == Parsed::ok && value >= 0 && value < 1e30) return static_cast<float>(value);
  note(parsed);
  return -1;
}

bool EventSink::time(std::string_view token, std::int64_t& out) {
  if (token.empty()) return false;
  const Parsed parsed = parse_time(token, out);
  if (parsed == Parsed::ok && out >= -kFarthest && out <= kFarthest) return true;
  note(parsed == Parsed::ok ? Parsed::out_of_range : parsed);
  return parsed == Parsed::rounded && out >= -kFarthest && out <= kFarthest;
}

StringId EventSink::text(std::string_view token) {
  if (token.empty()) return StringId();
  bool repaired = false;
  const std::string_view value = text_of(token, scratch_, repaired);
  if (repaired) note(NoteCode::repaired_escape);
  return batch_.intern(value);
}

EventClass EventSink::classify(std::string_view category) {
  const std::string_view name = without_quotes(category);
  if (const std::size_t i = kCategoryTable.find(name); i < kKnown) {
    ++counts_[i];
    return kCategories[i].kind;
  }
  if (category.empty()) {
    ++uncategorised_;
  } else {
    batch_.count_events(name);
  }
  // Makers of new devices name their calls by the same pattern.
  if (name.ends_with("_runtime")) return EventClass::runtime_call;
  return name.ends_with("_driver") ? EventClass::driver_call : EventClass::other;
}

void EventSink::flush() {
  static_assert(kKnown <= std::tuple_size_v<decltype(counts_)>);
  for (std::size_t i = 0; i < kKnown; ++i) {
    if (counts_[i] != 0) batch_.count_events(kCategories[i].name, counts_[i]);
    counts_[i] = 0;
  }
  if (uncategorised_ != 0) batch_.count_events("", uncategorised_);
  uncategorised_ = 0;
  last_thread_ = ThreadIndex();  // thread numbers are the batch's own
}

void EventSink::add(const RawEvent& event) {
  offset_ = event.offset;
  const std::string_view ph = without_quotes(event[Key::ph]);
  const EventClass kind = classify(event[Key::cat]);
  if (ph.size() != 1) {
    note(ph.empty() ? NoteCode::missing_field : NoteCode::unknown_event_kind);
    return;
  }
  switch (ph[0]) {
    case 'X':
      add_complete(event, kind);
      return;
    case 's':
    case 't':
    case 'f':
      return;  // flows repeat what correlation and sequence numbers say
    case 'i':
    case 'I':
      if (kind == EventClass::instant) add_memory_event(event);
      return;
    case 'C':
      add_counters(event);
      return;
    case 'M':
      add_metadata(event);
      return;
    case 'B':
      add_begin_end(event, kind, true);
      return;
    case 'E':
      add_begin_end(event, kind, false);
      return;
    default:
      note(NoteCode::unknown_event_kind, 1, "first: ph " + std::string(ph));
      return;
  }
}

bool EventSink::read_times(const RawEvent& event, Times& times) {
  if (!time(event[Key::ts], times.start_ns)) return false;
  std::int64_t dur = 0;
  const bool given = time(event[Key::dur], dur);
  if (!given || dur < 0 || dur > kLongest) {
    times.unfinished = true;
    if (dur > kLongest) {
      note(Parsed::out_of_range);
    } else {
      note(NoteCode::negative_duration, 1, given ? "" : "the first has no duration at all");
    }
    return true;
  }
  times.dur_ns = dur;
  return true;
}

void EventSink::add_complete(const RawEvent& event, EventClass kind) {
  Times times;
  if (event[Key::name].empty() || !read_times(event, times)) {
    note(NoteCode::missing_field);
    return;
  }
  switch (kind) {
    case EventClass::op:
      add_slice(event, SliceKind::op, times);
      return;
    case EventClass::annotation:
      add_slice(event, SliceKind::annotation, times);
      return;
    case EventClass::frame:
      add_slice(event, SliceKind::frame, times);
      return;
    case EventClass::runtime_call:
      add_slice(event, SliceKind::runtime_call, times);
      return;
    case EventClass::driver_call:
      add_slice(event, SliceKind::driver_call, times);
      return;
    case EventClass::overhead:
      add_slice(event, SliceKind::overhead, times);
      return;
    case EventClass::kernel:
      add_kernel(event, times);
      return;
    case EventClass::memcpy:
    case EventClass::memset:
      add_copy(event, kind, times);
      return;
    case EventClass::device_annotation:
      batch_.device_annotations.push({times.start_ns, times.dur_ns, text(event[Key::name]), stream_of(event)});
      return;
    case EventClass::device_sync:
      batch_.device_syncs.push({times.start_ns, times.dur_ns, integer(event[Arg::correlation]),
                                integer(event[Arg::stream]), integer(event[Arg::wait_on_stream]),
                                integer(event[Arg::record_correlation]), text(event[Key::name]), stream_of(event)});
      return;
    case EventClass::span:
      facts_.recorded_from_ns =
          facts_.recorded_from_ns == kNotRecorded ? times.start_ns : std::min(facts_.recorded_from_ns, times.start_ns);
      facts_.recorded_to_ns = std::max(facts_.recorded_to_ns, times.start_ns + times.dur_ns);
      return;
    case EventClass::instant:
    case EventClass::other:
      add_slice(event, SliceKind::other, times);
      return;
  }
}

ThreadIndex EventSink::thread_of(const RawEvent& event) {
  const std::string_view pid = event[Key::pid];
  const std::string_view tid = event[Key::tid];
  if (last_thread_.valid() && tid == last_tid_ && pid == last_pid_) return last_thread_;
  last_pid_.assign(pid);
  last_tid_.assign(tid);
  // Numbers, bare or quoted, are numbers; anything else (also a number beyond 64 bits) stays text and so distinct.
  std::int64_t pid_number = kNotRecorded;
  std::int64_t tid_number = kNotRecorded;
  StringId pid_text;
  StringId tid_text;
  if (parse_integer(pid, pid_number) != Parsed::ok) pid_text = text(pid), pid_number = kNotRecorded;
  if (parse_integer(tid, tid_number) != Parsed::ok) tid_text = text(tid), tid_number = kNotRecorded;
  last_process_ = facts_.process(pid_number, offset_);
  return last_thread_ = batch_.add_thread(pid_number, tid_number, pid_text, tid_text);
}

void EventSink::add_slice(const RawEvent& event, SliceKind kind, const Times& times) {
  SliceRow row;
  row.start_ns = times.start_ns;
  row.dur_ns = times.dur_ns;
  row.name = text(event[Key::name]);
  row.thread = thread_of(event);
  row.kind = kind;
  row.flags = times.unfinished ? kSliceUnfinished : 0;
  if (kind != SliceKind::overhead && kind != SliceKind::other) {
    FileFacts::Process& process = facts_.processes[last_process_];
    process.last_offset = offset_;
    ++process.events;
  }
  const std::string_view external = event.has(Arg::external_id) ? event[Arg::external_id] : event[Arg::external_id_old];
  if (kind == SliceKind::op || kind == SliceKind::annotation) {
    const OpDetailRow detail{integer(event[Arg::sequence]), integer(external), args_of(event),
                             integer32(event[Arg::forward_thread])};
    const SliceId id = batch_.add_slice(row, &detail);
    if (event.has(Arg::collective)) add_collective(event, id, DeviceEventId());
  } else if (kind == SliceKind::runtime_call || kind == SliceKind::driver_call) {
    const CallDetailRow detail{integer(event[Arg::correlation]), integer(external)};
    batch_.add_slice(row, &detail);
  } else if (kind == SliceKind::frame) {
    const FrameDetailRow detail{integer32(event[Arg::python_id]), integer32(event[Arg::python_parent_id]),
                                integer32(event[Arg::module_id])};
    batch_.add_slice(row, &detail);
  } else {
    batch_.add_slice(row, static_cast<const OpDetailRow*>(nullptr));
  }
}

ArgsId EventSink::args_of(const RawEvent& event) {
  const std::string_view dims = event.has(Arg::dims) ? event[Arg::dims] : event[Arg::dims_old];
  if (dims.empty() && !event.has(Arg::types) && !event.has(Arg::strides) && !event.has(Arg::concrete)) return ArgsId();
  const auto as_recorded = [&](std::string_view token) { return token.empty() ? StringId() : batch_.intern(token); };
  return batch_.add_op_args({as_recorded(dims), as_recorded(event[Arg::types]), as_recorded(event[Arg::strides]),
                             as_recorded(event[Arg::concrete])});
}

StreamIndex EventSink::stream_of(const RawEvent& event) {
  // Old recorders say it in pid and tid ("stream 7") only.
  std::int64_t device = integer(event[Arg::device]);
  std::int64_t stream = integer(event[Arg::stream]);
  if (device == kNotRecorded) parse_integer(event[Key::pid], device);
  if (stream == kNotRecorded) {
    std::string_view tid = without_quotes(event[Key::tid]);
    if (tid.starts_with("stream ")) tid.remove_prefix(7);
    parse_integer(tid, stream);
  }
  return batch_.add_stream(device, integer(event[Arg::context]), stream);
}

DeviceEventRow EventSink::device_row(const RawEvent& event, DeviceEventKind kind, const Times& times) {
  DeviceEventRow row;
  row.start_ns = times.start_ns;
  row.dur_ns = times.dur_ns;
  row.correlation = integer(event[Arg::correlation]);
  row.external_id = integer(event.has(Arg::external_id) ? event[Arg::external_id] : event[Arg::external_id_old]);
  row.name = text(event[Key::name]);
  row.stream = stream_of(event);
  row.kind = kind;
  const bool no_time = times.start_ns == 0 && times.dur_ns == 0;
  if (no_time || times.unfinished) row.flags |= kDeviceNoTiming;
  if (no_time) note(NoteCode::device_no_timing);
  return row;
}

LaunchConfigId EventSink::config_of(const RawEvent& event) {
  LaunchConfigRow row;
  row.grid_x = row.grid_y = row.grid_z = row.block_x = row.block_y = row.block_z = kNotRecorded32;
  read_triple(event[Arg::grid], row.grid_x, row.grid_y, row.grid_z);
  read_triple(event[Arg::block], row.block_x, row.block_y, row.block_z);
  row.registers = integer32(event[Arg::registers]);
  row.shared_memory = integer32(event[Arg::shared_memory]);
  row.occupancy_percent = real(event.has(Arg::occupancy) ? event[Arg::occupancy] : event[Arg::occupancy_old]);
  row.blocks_per_sm = real(event[Arg::blocks_per_sm]);
  row.warps_per_sm = real(event[Arg::warps_per_sm]);
  return batch_.add_launch_config(row);
}

void EventSink::add_kernel(const RawEvent& event, const Times& times) {
  const DeviceEventRow row = device_row(event, DeviceEventKind::kernel, times);
  const KernelDetailRow detail{config_of(event), integer(event[Arg::graph_node]), integer32(event[Arg::graph])};
  const DeviceEventId id = batch_.add_device_event(row, &detail);
  if (event.has(Arg::collective)) add_collective(event, SliceId(), id);
}

void EventSink::add_copy(const RawEvent& event, EventClass kind, const Times& times) {
  const bool copy = kind == EventClass::memcpy;
  const DeviceEventRow row = device_row(event, copy ? DeviceEventKind::memcpy : DeviceEventKind::memset, times);
  CopyDetailRow detail;
  detail.bytes = integer(event[Arg::bytes]);
  const std::string_view name = without_quotes(event[Key::name]);
  if (copy) detail.direction = direction_of(name);
  read_kinds(name, detail);
  batch_.add_device_event(row, &detail);
}

void EventSink::add_collective(const RawEvent& event, SliceId op, DeviceEventId kernel) {
  CollectiveRow row;
  row.op = op;
  row.kernel = kernel;
  row.sequence = integer(event[Arg::seq]);
  row.in_elements = integer(event[Arg::in_elements]);
  row.out_elements = integer(event[Arg::out_elements]);
  row.group_size = integer(event[Arg::group_size]);
  row.source_rank = integer(event[Arg::source_rank]);
  row.destination_rank = integer(event[Arg::destination_rank]);
  row.name = text(event[Arg::collective]);
  row.dtype = text(event[Arg::dtype]);
  row.group_name = text(event[Arg::group_name]);
  row.group_description = text(event[Arg::group_description]);
  row.group_ranks = text(event[Arg::group_ranks]);
  batch_.collectives.push(row);
  facts_.see_rank(integer(event[Arg::rank]));
}

void EventSink::add_memory_event(const RawEvent& event) {
  if (without_quotes(event[Key::name]) != "[memory]") return;
  MemoryEventRow row;
  if (!time(event[Key::ts], row.time_ns)) {
    note(NoteCode::missing_field);
    return;
  }
  const auto small = [&](Arg arg) {
    const std::int64_t value = integer(event[arg]);
    const bool fits =
        value > std::numeric_limits<std::int16_t>::min() && value <= std::numeric_limits<std::int16_t>::max();
    return fits ? static_cast<std::int16_t>(value) : std::int16_t{-1};
  };
  row.address = integer(event[Arg::address]);
  row.bytes = integer(event[Arg::memory_bytes]);
  row.total_allocated = integer(event[Arg::total_allocated]);
  row.total_reserved = integer(event[Arg::total_reserved]);
  row.thread = thread_of(event);
  row.device_type = small(Arg::device_type);
  row.device = small(Arg::device_id);
  batch_.memory_events.push(row);
}

void EventSink::add_counters(const RawEvent& event) {
  std::int64_t time_ns = 0;
  if (event[Key::name].empty() || !time(event[Key::ts], time_ns)) {
    note(NoteCode::missing_field);
    return;
  }
  std::string label;
  for (const auto& [series, value] : event.all_args()) {
    double number = 0;
    const Parsed parsed = parse_float(value, number);
    if (parsed != Parsed::ok) {
      note(parsed);
      continue;
    }
    bool repaired = false;
    label.assign(text_of(event[Key::name], scratch_, repaired));
    if (!series.empty()) label += ':';
    label += series;
    batch_.counters.push({time_ns, number, batch_.intern(label)});
  }
}

void EventSink::add_begin_end(const RawEvent& event, EventClass category, bool begin) {
  std::int64_t time_ns = 0;
  if (!time(event[Key::ts], time_ns)) {
    note(NoteCode::missing_field);
    return;
  }
  const SliceKind kind = category == EventClass::op           ? SliceKind::op
                         : category == EventClass::annotation ? SliceKind::annotation
                                                              : SliceKind::other;
  batch_.begin_ends.push_back({time_ns, text(event[Key::name]), thread_of(event), kind, begin});
}

void EventSink::add_metadata(const RawEvent& event) {
  const std::string_view name = without_quotes(event[Key::name]);
  if (name != "thread_name" || !event.has(Arg::name_arg)) return;
  std::int64_t pid = kNotRecorded;
  std::int64_t tid = kNotRecorded;
  StringId pid_text;
  StringId tid_text;
  if (parse_integer(event[Key::pid], pid) != Parsed::ok) pid_text = text(event[Key::pid]), pid = kNotRecorded;
  if (parse_integer(event[Key::tid], tid) != Parsed::ok) tid_text = text(event[Key::tid]), tid = kNotRecorded;
  batch_.thread_names.push_back({pid, tid, pid_text, tid_text, text(event[Arg::name_arg])});
}

}  // namespace accel::kineto_json
