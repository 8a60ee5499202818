#include <algorithm>
#include <limits>
#include <unordered_map>
#include <vector>

#include "base/byte_source.h"
#include "base/task_pool.h"
#include "ingest/catalog.h"
#include "ingest/importer.h"
#include "ingest/kineto_json/header.h"
#include "ingest/kineto_json/stream_import.h"

namespace accel::kineto_json {
namespace {

int sniff(std::span<const char> head, std::string_view /*path*/) {
  std::string_view text(head.data(), head.size());
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return 0;
  text.remove_prefix(first);
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  const bool empty = text.size() > 1 && text.find_first_not_of(" \t\r\n", 1) == text.find_first_of("]}");
  if (text[0] == '[') return has("\"ph\"") || empty ? 80 : 0;
  if (text[0] == '{')
    return has("\"traceEvents\"") || has("\"schemaVersion\"") || empty ? 90 : 10;  // the events may come late
  return has("\"ph\"") && (has("\"traceEvents\"") || has("\"ts\"")) ? 60 : 0;      // a damaged head
}

std::string byte(std::uint64_t offset) { return "byte " + std::to_string(offset); }

// A file that broke somewhere, and whose events from there on are of a process that was not there before: another
// writer went on in it. Nothing of that process is kept.
void drop_foreign_events(const Imported& imported, TraceBuilder& builder, NoteList& notes) {
  constexpr std::uint64_t kEnough = 8;  // a digit of a process id may be damaged too
  const Imported::Damage* last = nullptr;
  for (const FileFacts::Process& late : imported.facts.processes) {
    if (late.events < kEnough) continue;
    for (const FileFacts::Process& early : imported.facts.processes) {
      if (early.events < kEnough || early.last_offset >= late.first_offset) continue;
      for (const Imported::Damage& damage : imported.damages) {
        const bool between = damage.offset >= early.last_offset && damage.offset <= late.first_offset;
        if (between && (last == nullptr || damage.offset < last->offset)) last = &damage;
      }
    }
  }
  if (last == nullptr) return;
  builder.rewind(last->mark);
  notes.add(NoteCode::interleaved_writers, 1, byte(last->offset),
            "events of another process follow; they were left out");
}

void settle_rank(const Imported& imported, const ImportOptions& options, std::string_view path, ProcessInfo& process,
                 NoteList& notes) {
  if (options.rank) {
    process.rank = options.rank;
  } else if (!process.rank && imported.facts.rank() != kNotRecorded) {
    process.rank = imported.facts.rank();
    process.rank_guessed = true;
    notes.add(NoteCode::rank_guessed, 1, "", "from the Rank of its collectives");
  } else if (!process.rank) {
    process.rank = rank_of_name(path);
    process.rank_guessed = process.rank.has_value();
    if (process.rank) notes.add(NoteCode::rank_guessed, 1, "", "from the file's name");
  }
}

void settle_times(const Imported& imported, ProcessInfo& process) {
  if (imported.facts.recorded_from_ns == kNotRecorded) return;
  const std::int64_t base = process.base_time_ns.value_or(0);
  process.recorded = Interval{imported.facts.recorded_from_ns + base, imported.facts.recorded_to_ns + base};
}

// Ops that wait for others are no work of the processor.
bool is_host_work(std::string_view op) {
  for (const std::string_view waits : {"gloo:", "c10d::", "record_param_comms", "mpi:"}) {
    if (op.starts_with(waits)) return false;
  }
  return true;
}

Error two_ranks(std::string_view path) {
  return Error{
      ErrorCode::unreadable,
      "The file holds events of more than one rank. A merged file is for viewing only: analyse the files of the single "
      "ranks instead, for example all in one folder.",
      std::string(path)};
}

// Whether two processes marked the same step: a rank marks its steps in one process, whatever others it has. One of few
// events is a damaged digit.
bool two_processes_step(const TraceStore& store, const FileFacts& facts) {
  std::uint64_t all = 0;
  for (const FileFacts::Process& process : facts.processes) all += process.events;
  const auto is_large = [&](std::int64_t pid) {
    const auto known = std::find_if(facts.processes.begin(), facts.processes.end(),
                                    [&](const FileFacts::Process& process) { return process.pid == pid; });
    return known != facts.processes.end() && known->events * 20 > all;
  };
  constexpr std::string_view kMark = "ProfilerStep#";
  std::vector<char> is_mark(store.strings.size());
  for (std::uint32_t i = 0; i < is_mark.size(); ++i) is_mark[i] = store.text(StringId(i)).starts_with(kMark) ? 1 : 0;
  std::unordered_map<std::uint32_t, std::int64_t> process_of;  // by the mark's name
  for (std::size_t i = 0; i < store.slices.size(); ++i) {
    const StringId name = store.slices.name[i];
    if (is_mark[name.value] == 0) continue;
    const std::int64_t pid = store.threads.pid[store.slices.thread[i].value];
    if (pid == kNotRecorded || !is_large(pid)) continue;
    if (process_of.emplace(name.value, pid).first->second != pid) return true;
  }
  return false;
}

Result<TraceStore> read(ByteSource& source, const ImportOptions& options) {
  const unsigned threads = usable_threads(options.threads);
  TraceBuilder builder(threads);
  Result<Imported> imported = stream_import(source, builder, {threads, options.progress});
  if (!imported) return imported.error();
  if (imported->facts.several_ranks()) return two_ranks(source.name());

  if (imported->no_trace) return Error{ErrorCode::not_a_trace, "This is JSON, but no trace.", source.name()};

  NoteList& notes = builder.notes();
  drop_foreign_events(*imported, builder, notes);
  builder.process() = imported->process;
  settle_rank(*imported, options, source.name(), builder.process(), notes);
  settle_times(*imported, builder.process());
  InputInfo& input = builder.input();
  input.path = source.name();
  input.format = "kineto_json";
  input.bytes = source.total_bytes();
  input.text_bytes = imported->text_bytes;
  notes.add_all(imported->notes);
  if (imported->truncated) {
    notes.add(NoteCode::truncated, 1, byte(imported->text_bytes), std::to_string(input.events) + " events were kept");
  }
  if (!source.damage().empty()) notes.add(NoteCode::compressed_stream_cut, 1, "", source.damage());

  // Our recorder says so in traces of jobs that use no device; others just may not have recorded it.
  const auto device = builder.process().options.find("accel_device");
  if (device != builder.process().options.end() && device->second == "cpu") builder.add_host_device(is_host_work);

  Result<TraceStore> store = builder.finish();
  if (!store) return store;
  if (store->notes.find(NoteCode::two_ranks_in_one_file) != nullptr || two_processes_step(*store, imported->facts))
    return two_ranks(source.name());
  const bool nothing =
      store->slices.empty() && store->device_events.empty() && store->counters.empty() && store->memory_events.empty();
  if (nothing) store->notes.add(NoteCode::no_events);
  constexpr std::int64_t kYear2000 = 946'684'800'000'000'000;
  if (!nothing && !store->process.base_time_ns && store->time_range.start_ns < kYear2000)
    store->notes.add(NoteCode::no_time_base);
  if (!store->process.rank && !store->collectives.empty()) store->notes.add(NoteCode::rank_unknown);
  return store;
}

}  // namespace

const ImporterDescriptor kImporter = {
    "kineto_json",
    "PyTorch profiler (Kineto) Chrome trace",
    "PyTorch profiler（Kineto）Chrome 跟踪",
    ".json .json.gz .json.zst",
    sniff,
    read,
};

}  // namespace accel::kineto_json
