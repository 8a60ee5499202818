#include "runtime/python/process_memory.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace accel::runtime::python {
namespace {

constexpr std::size_t kPathBytes = 512;

struct Mapping {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  char path[kPathBytes] = {};
};

// fn(mapping) for each line of /proc/PID/maps, until it returns true.
template <typename Fn>
bool find_mapping(std::int32_t pid, const Fn& fn) {
  char name[64];
  std::snprintf(name, sizeof name, "/proc/%d/maps", pid);
  const int fd = ::open(name, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char buffer[4096];
  std::size_t used = 0;
  bool found = false;
  for (ssize_t got = 1; got > 0 && !found;) {
    got = ::read(fd, buffer + used, sizeof buffer - 1 - used);
    if (got > 0) used += static_cast<std::size_t>(got);
    buffer[used] = 0;
    char* line = buffer;
    for (char* end = std::strchr(line, '\n'); end != nullptr && !found; end = std::strchr(line, '\n')) {
      *end = 0;
      Mapping mapping;
      char* after = nullptr;
      mapping.start = std::strtoull(line, &after, 16);
      if (*after == '-') mapping.end = std::strtoull(after + 1, &after, 16);
      const char* path = std::strchr(after, '/');
      if (path != nullptr && std::strlen(path) < kPathBytes) std::memcpy(mapping.path, path, std::strlen(path) + 1);
      found = fn(mapping);
      line = end + 1;
    }
    used -= static_cast<std::size_t>(line - buffer);
    if (used == sizeof buffer - 1) used = 0;  // no path is so long
    std::memmove(buffer, line, used);
  }
  ::close(fd);
  return found;
}

// Where the file begins in the process.
bool first_mapping(std::int32_t pid, const char* path, std::uint64_t& start) {
  return find_mapping(pid, [&](const Mapping& mapping) {
    if (std::strcmp(mapping.path, path) != 0) return false;
    start = mapping.start;
    return true;
  });
}

}  // namespace

bool ProcessMemory::read(std::uint64_t address, void* out, std::size_t bytes) const {
  const iovec here = {out, bytes};
  const iovec there = {reinterpret_cast<void*>(address), bytes};  // NOLINT(performance-no-int-to-ptr)
  return ::process_vm_readv(pid_, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

std::size_t ProcessMemory::read_pieces(const std::uint64_t* addresses, std::size_t count, std::size_t bytes,
                                       void* out) const {
  iovec there[kMostPieces];
  if (count > kMostPieces) count = kMostPieces;
  for (std::size_t i = 0; i < count; ++i)
    there[i] = {reinterpret_cast<void*>(addresses[i]), bytes};  // NOLINT(performance-no-int-to-ptr)
  const iovec here = {out, count * bytes};
  const ssize_t got = ::process_vm_readv(pid_, &here, 1, there, count, 0);
  return got <= 0 ? 0 : static_cast<std::size_t>(got) / bytes;
}

bool ProcessMemory::read_with_before(std::uint64_t address, void* out, std::size_t bytes, void* before,
                                     std::size_t before_bytes, bool& before_read) const {
  const iovec here[] = {{out, bytes}, {before, before_bytes}};
  const iovec there[] = {
      {reinterpret_cast<void*>(address), bytes},                         // NOLINT(performance-no-int-to-ptr)
      {reinterpret_cast<void*>(address - before_bytes), before_bytes}};  // NOLINT(performance-no-int-to-ptr)
  const ssize_t got = ::process_vm_readv(pid_, here, 2, there, 2, 0);
  before_read = got == static_cast<ssize_t>(bytes + before_bytes);
  return got >= static_cast<ssize_t>(bytes);
}

bool address_shift(std::int32_t pid, std::uint64_t address, std::int64_t& shift) {
  shift = 0;
  // The child of a fork has the same pointers at the same place; no other process has.
  std::uint8_t own[128];
  std::uint8_t its[sizeof own];
  if (ProcessMemory(::getpid()).read(address, own, sizeof own) && ProcessMemory(pid).read(address, its, sizeof its) &&
      std::memcmp(own, its, sizeof own) == 0)
    return true;
  char path[kPathBytes] = {};
  const bool known = find_mapping(::getpid(), [&](const Mapping& mapping) {
    if (address < mapping.start || address >= mapping.end || mapping.path[0] == 0) return false;
    std::memcpy(path, mapping.path, sizeof path);
    return true;
  });
  std::uint64_t here = 0;
  std::uint64_t there = 0;
  if (!known || !first_mapping(::getpid(), path, here) || !first_mapping(pid, path, there)) return false;
  shift = static_cast<std::int64_t>(there - here);
  return true;
}

}  // namespace accel::runtime::python
