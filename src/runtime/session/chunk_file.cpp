#include "runtime/session/chunk_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "runtime/buffer/clock.h"
#include "runtime/session/zstd_loader.h"

namespace accel::runtime {
namespace {

using format::NativeTable;
namespace native = format::native;

constexpr std::int64_t kSecond = 1'000'000'000;

std::size_t buffer_bytes(const ChunkFile::Room& room) {
  return format::RowBuffer::bytes_needed(format::layout_of(room.table), room.rows, room.text_bytes);
}

std::size_t scratch_of(const ChunkFile::Room* rooms, std::size_t count) {
  std::size_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) largest = buffer_bytes(rooms[i]) > largest ? buffer_bytes(rooms[i]) : largest;
  return format::NativeFile::scratch_bytes(largest);
}

}  // namespace

bool make_folders(const char* path) {
  char part[1024];
  const std::size_t length = std::strlen(path);
  if (length == 0 || length >= sizeof part) {
    errno = ENAMETOOLONG;
    return false;
  }
  std::memcpy(part, path, length + 1);
  for (std::size_t i = 1; i <= length; ++i) {
    if (part[i] != '/' && part[i] != 0) continue;
    part[i] = 0;
    if (::mkdir(part, 0777) != 0 && errno != EEXIST) return false;
    if (i < length) part[i] = '/';
  }
  return true;
}

std::size_t ChunkFile::bytes_needed(const Room* rooms, std::size_t count) {
  std::size_t bytes = scratch_of(rooms, count);
  for (std::size_t i = 0; i < count; ++i) bytes += buffer_bytes(rooms[i]);
  return bytes;
}

void ChunkFile::init(const Room* rooms, std::size_t count, char* memory) {
  rooms_ = rooms;
  room_count_ = count;
  for (std::size_t i = 0; i < count; ++i) {
    this->rows(rooms[i].table).init(format::layout_of(rooms[i].table), rooms[i].rows, rooms[i].text_bytes, memory);
    memory += buffer_bytes(rooms[i]);
  }
  scratch_ = memory;
  scratch_bytes_ = scratch_of(rooms, count);
}

int ChunkFile::open(const RecordIdentity& identity, const char* name, std::uint32_t number, const char* ending,
                    std::uint32_t part) {
  int error = make_folders(identity.folder) ? 0 : errno;
  for (std::uint32_t attempt = 0; error == 0 && attempt < 100; ++attempt) {
    const auto pid = static_cast<long>(::getpid());
    const int length = identity.rank >= 0
                           ? std::snprintf(path_, sizeof path_, "%s/rank%d-pid%ld-%s%u%s", identity.folder,
                                           identity.rank, pid, name, number + attempt, ending)
                           : std::snprintf(path_, sizeof path_, "%s/pid%ld-%s%u%s", identity.folder, pid, name,
                                           number + attempt, ending);
    if (length < 0 || static_cast<std::size_t>(length) >= sizeof path_) return ENAMETOOLONG;
    format::NativeFile::Identity file;
    if (part == 0) (void)!::getrandom(capture_id_, sizeof capture_id_, GRND_NONBLOCK);
    std::memcpy(file.capture_id, capture_id_, sizeof capture_id_);
    file.pid = static_cast<std::uint32_t>(pid);
    file.created_ns = realtime_ns();
    file.part = part;
    error = file_.open(AT_FDCWD, path_, file, zstd_packer(), scratch_, scratch_bytes_);
    if (error != EEXIST) break;
    error = 0;  // the pid was used before: take the next number
  }
  if (error == 0 && !file_.is_open()) error = EEXIST;
  if (error != 0) return error;
  write_identity(identity);
  clock_pair();
  return 0;
}

void ChunkFile::write(format::RowBuffer& rows) { file_.append(rows); }

void ChunkFile::meta(const char* key, const char* value) {
  make_room(NativeTable::Meta, std::strlen(key) + std::strlen(value));
  put_row(rows(NativeTable::Meta), native::MetaRow{key, value});
}

void ChunkFile::meta(const char* key, std::int64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "%lld", static_cast<long long>(value));
  meta(key, text);
}

void ChunkFile::write_identity(const RecordIdentity& identity) {
  char host[256] = {};
  char program[512] = {};
  char outer[32] = {};
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = 0;
  const ssize_t length = ::readlink("/proc/self/exe", program, sizeof program - 1);
  if (length < 0) program[0] = 0;
  meta("recorder", "accel-profiler runtime");
  meta("pid", ::getpid());
  // /proc may be that of an outer PID namespace, whose number for this process others see.
  const ssize_t self = ::readlink("/proc/self", outer, sizeof outer - 1);
  if (self > 0) {
    char inner[32];
    std::snprintf(inner, sizeof inner, "%ld", static_cast<long>(::getpid()));
    if (std::strcmp(outer, inner) != 0) meta("pid_in_proc", outer);
  }
  meta("host", host);
  meta("program", program);
  if (identity.rank >= 0) meta("rank", identity.rank);
  if (identity.world_size >= 0) meta("world_size", identity.world_size);
  meta("clock", clock_is_tsc() ? "tsc" : "monotonic");
  meta("tick_hz", static_cast<std::int64_t>(tick_hz()));
}

void ChunkFile::clock_pair() {
  const ClockPair pair = read_clock_pair();
  make_room(NativeTable::Clock, 0);
  put_row(rows(NativeTable::Clock),
          native::ClockRow{pair.ticks, pair.realtime_ns, pair.monotonic_ns, pair.uncertainty_ns});
}

void ChunkFile::note(const char* code, unsigned severity, std::uint64_t count, const char* message,
                     const char* remedy) {
  make_room(NativeTable::Note, std::strlen(code) + std::strlen(message) + std::strlen(remedy));
  put_row(rows(NativeTable::Note),
          native::NoteRow{ticks(), count, static_cast<std::uint8_t>(severity), code, message, remedy});
}

void ChunkFile::mark(std::uint64_t time, std::string_view text) {
  make_room(NativeTable::Mark, text.size());
  put_row(rows(NativeTable::Mark), native::MarkRow{time, text});
}

void ChunkFile::write_all() {
  for (std::size_t i = 0; i < room_count_; ++i) {
    if (rooms_[i].table != NativeTable::End) write(rooms_[i].table);
  }
}

void ChunkFile::sync_sometimes() {
  constexpr std::int64_t kSyncShare = 10;
  const std::int64_t now = monotonic_ns();
  if (now < next_sync_ns_) return;
  file_.sync();
  next_sync_ns_ = now + (monotonic_ns() - now) * kSyncShare;
  if (next_sync_ns_ < now + kSecond / 2) next_sync_ns_ = now + kSecond / 2;
}

void ChunkFile::end(const char* reason) {
  put_row(rows(NativeTable::End), native::EndRow{ticks(), file_.chunks(), reason});
  write(NativeTable::End);
  file_.sync();
  file_.close();
}

}  // namespace accel::runtime
