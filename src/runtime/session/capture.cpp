#include "runtime/session/capture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "runtime/sampler/sampler.h"
#include "runtime/session/zstd_loader.h"

namespace accel::runtime {
namespace {

using format::NativeTable;
namespace native = format::native;

constexpr std::int64_t kSecond = 1'000'000'000;

struct Room {
  NativeTable table;
  std::uint32_t rows;
  std::uint32_t text_bytes;
};
constexpr Room kRooms[] = {
    {NativeTable::Meta, 64, 4096},    {NativeTable::Name, 512, 32768},      {NativeTable::Clock, 64, 0},
    {NativeTable::Thread, 256, 4096}, {NativeTable::Scope, 8192, 0},        {NativeTable::Args, 256, 32768},
    {NativeTable::Step, 512, 0},      {NativeTable::CounterInfo, 64, 4096}, {NativeTable::Counter, 2048, 0},
    {NativeTable::Note, 32, 8192},    {NativeTable::Mark, 64, 8192},        {NativeTable::Window, 4, 1024},
    {NativeTable::End, 1, 64}};

// As mkdir -p: 0 or errno.
int make_folders(const char* path) {
  char part[1024];
  const std::size_t length = std::strlen(path);
  if (length == 0 || length >= sizeof part) return ENAMETOOLONG;
  std::memcpy(part, path, length + 1);
  for (std::size_t i = 1; i <= length; ++i) {
    if (part[i] != '/' && part[i] != 0) continue;
    part[i] = 0;
    if (::mkdir(part, 0777) != 0 && errno != EEXIST) return errno;
    if (i < length) part[i] = '/';
  }
  return 0;
}

}  // namespace

void StepRing::push(const StepRecord& record) {
  const std::uint32_t head = head_.load(std::memory_order_relaxed);
  if (head - tail_.load(std::memory_order_acquire) >= kSize) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  records_[head % kSize] = record;
  head_.store(head + 1, std::memory_order_release);
}

bool StepRing::pop(StepRecord& record) {
  const std::uint32_t tail = tail_.load(std::memory_order_relaxed);
  if (tail == head_.load(std::memory_order_acquire)) return false;
  record = records_[tail % kSize];
  tail_.store(tail + 1, std::memory_order_release);
  return true;
}

Capture* Capture::make(const CaptureIdentity& identity, const Sources& sources, int& error) {
  std::size_t buffers = 0;
  std::size_t largest = 0;
  for (const Room& room : kRooms) {
    const std::size_t bytes =
        format::RowBuffer::bytes_needed(format::layout_of(room.table), room.rows, room.text_bytes);
    buffers += bytes;
    largest = bytes > largest ? bytes : largest;
  }
  const std::size_t head = (sizeof(Capture) + 63) & ~std::size_t{63};
  const std::size_t scratch = format::NativeFile::scratch_bytes(largest);
  const std::size_t bytes = head + buffers + scratch;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    error = ENOMEM;
    return nullptr;
  }
  auto* capture = new (memory) Capture();
  capture->block_bytes_ = bytes;
  capture->identity_ = identity;
  capture->sources_ = sources;
  char* at = static_cast<char*>(memory) + head;
  for (const Room& room : kRooms) {
    capture->rows(room.table).init(format::layout_of(room.table), room.rows, room.text_bytes, at);
    at += format::RowBuffer::bytes_needed(format::layout_of(room.table), room.rows, room.text_bytes);
  }
  error = make_folders(identity.folder);
  for (int attempt = 0; error == 0 && attempt < 100; ++attempt) {
    const auto pid = static_cast<long>(::getpid());
    const unsigned number = identity.number + static_cast<unsigned>(attempt);
    const int length =
        identity.rank >= 0
            ? std::snprintf(capture->path_, sizeof capture->path_, "%s/rank%d-pid%ld-%u.accel", identity.folder,
                            identity.rank, pid, number)
            : std::snprintf(capture->path_, sizeof capture->path_, "%s/pid%ld-%u.accel", identity.folder, pid, number);
    if (length < 0 || static_cast<std::size_t>(length) >= sizeof capture->path_) {
      error = ENAMETOOLONG;
      break;
    }
    format::NativeFile::Identity file;
    (void)!::getrandom(file.capture_id, sizeof file.capture_id, GRND_NONBLOCK);
    file.pid = static_cast<std::uint32_t>(pid);
    file.created_ns = realtime_ns();
    error = capture->file_.open(AT_FDCWD, capture->path_, file, zstd_packer(), at, scratch);
    if (error != EEXIST) break;
    error = 0;  // the pid was used before: take the next number
  }
  if (error == 0 && !capture->file_.is_open()) error = EEXIST;
  if (error != 0) {
    destroy(capture);
    return nullptr;
  }
  capture->write_meta();
  capture->clock_pair();
  sources.args->rewind();
  capture->flush(false);
  return capture;
}

void Capture::destroy(Capture* capture) {
  const std::size_t bytes = capture->block_bytes_;
  capture->~Capture();
  ::munmap(capture, bytes);
}

void Capture::write(NativeTable table) {
  const int error = file_.append(rows(table));
  if (error != 0) {
    error_ = error;
    ++writes_failed_;
  }
}

// What rows refer to stands before them in the file.
void Capture::make_room(NativeTable table, std::size_t text_bytes) {
  if (rows(table).has_room(text_bytes)) return;
  if (table == NativeTable::Scope || table == NativeTable::Counter) {
    write_names();
    write_args();
    for (const NativeTable before :
         {NativeTable::Name, NativeTable::Args, NativeTable::Thread, NativeTable::CounterInfo})
      write(before);
  }
  write(table);
}

void Capture::meta(const char* key, const char* value) {
  make_room(NativeTable::Meta, std::strlen(key) + std::strlen(value));
  put_row(rows(NativeTable::Meta), native::MetaRow{key, value});
}

void Capture::meta(const char* key, std::int64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "%lld", static_cast<long long>(value));
  meta(key, text);
}

void Capture::write_meta() {
  char host[256] = {};
  char program[512] = {};
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = 0;
  const ssize_t length = ::readlink("/proc/self/exe", program, sizeof program - 1);
  if (length < 0) program[0] = 0;
  meta("recorder", "accel-profiler runtime");
  meta("pid", ::getpid());
  meta("host", host);
  meta("program", program);
  if (identity_.rank >= 0) meta("rank", identity_.rank);
  if (identity_.world_size >= 0) meta("world_size", identity_.world_size);
  meta("level", identity_.level);
  meta("asked_by", identity_.asked_by);
  meta("clock", clock_is_tsc() ? "tsc" : "monotonic");
  meta("tick_hz", static_cast<std::int64_t>(tick_hz()));
}

void Capture::clock_pair() {
  const ClockPair pair = read_clock_pair();
  make_room(NativeTable::Clock, 0);
  put_row(rows(NativeTable::Clock),
          native::ClockRow{pair.ticks, pair.realtime_ns, pair.monotonic_ns, pair.uncertainty_ns});
}

void Capture::note(const char* code, unsigned severity, std::uint64_t count, const char* message, const char* remedy) {
  make_room(NativeTable::Note, std::strlen(code) + std::strlen(message) + std::strlen(remedy));
  put_row(rows(NativeTable::Note),
          native::NoteRow{ticks(), count, static_cast<std::uint8_t>(severity), code, message, remedy});
}

// Names are written before the scopes that use them: a scope's name was interned before the scope began.
void Capture::write_names() {
  const std::uint32_t count = sources_.names->count();
  while (names_written_ < count) {
    const NameRegistry::Entry& entry = sources_.names->entry(++names_written_);
    make_room(NativeTable::Name, entry.category().size() + entry.text().size());
    put_row(rows(NativeTable::Name), native::NameRow{names_written_, entry.category(), entry.text()});
  }
}

void Capture::write_args() {
  ArgsCache::Args args;
  while (sources_.args->next_unwritten(args)) {
    make_room(NativeTable::Args, std::size_t{args.shape_bytes} + args.dtype_bytes);
    put_row(rows(NativeTable::Args),
            native::ArgsRow{args.id, {args.shape, args.shape_bytes}, {args.dtype, args.dtype_bytes}});
  }
}

void Capture::write_steps() {
  StepRecord step;
  while (steps_.pop(step)) {
    if (step.phase == WindowPlan::Phase::warmup) continue;
    make_room(NativeTable::Step, 0);
    put_row(
        rows(NativeTable::Step),
        native::StepRow{step.step, step.begin, step.end, step.loader_wait_ns < 0 ? format::kNoI64 : step.loader_wait_ns,
                        step.loss, step.samples, step.epoch < 0 ? format::kNoI64 : step.epoch, step.tid,
                        static_cast<std::uint8_t>(step.phase)});
  }
}

void Capture::number_info(std::uint32_t slot) {
  std::uint64_t& word = numbers_written_[slot / 64];
  const std::uint64_t bit = std::uint64_t{1} << (slot % 64);
  if ((word & bit) != 0 || sources_.numbers == nullptr) return;
  word |= bit;
  const std::string_view name = sources_.numbers->name(static_cast<std::uint16_t>(slot));
  const bool built_in = slot < kBuiltInCount;
  std::string_view unit = built_in ? describe(static_cast<BuiltIn>(slot)).unit : std::string_view();
  std::string_view source = to_string(built_in ? describe(static_cast<BuiltIn>(slot)).source : NumberSource::user);
  std::int64_t refresh_ns = 0;
  const SampleField* field = nullptr;
  const SamplerDescriptor* sampler = sampler_of(name.data(), &field);  // names end with a zero
  if (sampler != nullptr) {
    unit = field->unit;
    source = sampler->id;
    refresh_ns = sampler->refresh_ns > sampler->window_interval_ns ? sampler->refresh_ns : sampler->window_interval_ns;
  }
  make_room(NativeTable::CounterInfo, name.size() + unit.size() + source.size());
  put_row(rows(NativeTable::CounterInfo), native::CounterInfoRow{slot, name, unit, source, refresh_ns});
}

void Capture::on_scope(std::uint32_t thread, const ScopeRecord& record) {
  if (record.begin < keep_from_) return;
  if ((record.name & kNumberRecord) != 0) {
    const std::uint32_t slot = record.name & ~kNumberRecord;
    double value;
    std::memcpy(&value, &record.bytes, sizeof value);
    number_info(slot);
    make_room(NativeTable::Counter, 0);
    put_row(rows(NativeTable::Counter), native::CounterRow{record.begin, value, slot});
    return;
  }
  if ((record.name & kMarkRecord) != 0) {
    const std::string_view text = sources_.names->entry(record.name & ~kMarkRecord).text();
    make_room(NativeTable::Mark, text.size());
    put_row(rows(NativeTable::Mark), native::MarkRow{record.begin, text});
    return;
  }
  make_room(NativeTable::Scope, 0);
  put_row(rows(NativeTable::Scope),
          native::ScopeRow{record.begin, record.end, record.bytes, record.name, record.args, thread});
}

FrameRecorder::Sink Capture::sink() {
  return {this,
          [](void* context, std::uint32_t thread, std::uint32_t tid, const char* name) {
            auto& capture = *static_cast<Capture*>(context);
            capture.make_room(NativeTable::Thread, 16);
            put_row(capture.rows(NativeTable::Thread), native::ThreadRow{thread, tid, name});
          },
          [](void* context, std::uint32_t thread, const ScopeRecord& record) {
            static_cast<Capture*>(context)->on_scope(thread, record);
          }};
}

bool Capture::drain(std::uint64_t keep_from) {
  keep_from_ = keep_from;
  const bool full = sources_.recorder->drain(sink());
  write_steps();
  return full;
}

void Capture::flush(bool sync) {
  constexpr std::int64_t kSyncShare = 10;  // at most a tenth of the time is spent waiting for the disk
  clock_pair();
  write_names();
  write_args();
  for (const Room& room : kRooms) {
    if (room.table != NativeTable::End) write(room.table);
  }
  const std::int64_t now = monotonic_ns();
  if (!sync || now < next_sync_ns_) return;
  file_.sync();
  next_sync_ns_ = now + (monotonic_ns() - now) * kSyncShare;
  if (next_sync_ns_ < now + kSecond / 2) next_sync_ns_ = now + kSecond / 2;
}

void Capture::finish(std::uint64_t begin, std::uint64_t end, const WindowPlan& plan, std::uint32_t warmup,
                     const char* ended_by) {
  if (std::strcmp(ended_by, "hang") == 0) {
    sources_.recorder->open_scopes(sink());
    note("hang", 2, 1,
         "no step ended within the time limit: the window was closed with what there was, open scopes have no end",
         "look at the open scopes of each thread");
  }
  if (!plan.was_steady())
    note("not_steady", 0, 1, "the step times had not settled when the window opened", "ask for a longer wait");
  if (plan.cycle() > 1)
    note("cycle", 0, plan.cycle(), "the steps repeat in a cycle of this length",
         "nothing to do: the window covers two of them where it could");
  const std::uint64_t dropped = sources_.recorder->dropped();
  if (dropped > 0)
    note("dropped_records", 1, dropped, "rings were full and records were dropped",
         "raise max_ring_bytes, or record fewer scopes");
  if (sources_.recorder->refused_threads() > 0)
    note("refused_threads", 1, sources_.recorder->refused_threads(), "threads found no room for a ring",
         "raise max_ring_bytes");
  if (sources_.names->refused() > 0)
    note("too_many_names", 1, sources_.names->refused(), "scopes beyond 65,536 names are called (other names)",
         "put numbers into arguments, not into names");
  if (sources_.args->refused() > 0)
    note("shapes_lost", 0, sources_.args->refused(),
         "shapes came faster than they were written; their scopes have none", "nothing to do");
  if (steps_.dropped() > 0) note("dropped_steps", 1, steps_.dropped(), "step records were dropped", "nothing to do");
  if (file_.lost_rows() > 0)
    note("write_failed", 1, file_.lost_rows(), "records could not be written (disk full or folder gone)",
         "free space in the output folder");
  make_room(NativeTable::Window, 512);
  put_row(rows(NativeTable::Window),
          native::WindowRow{begin, end, plan.kept_steps(), warmup, static_cast<std::uint8_t>(identity_.level),
                            identity_.asked_by, ended_by});
  flush(false);
  put_row(rows(NativeTable::End), native::EndRow{ticks(), file_.chunks(), ended_by});
  write(NativeTable::End);
  file_.sync();
  file_.close();
}

}  // namespace accel::runtime
