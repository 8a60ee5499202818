#include "runtime/session/call_stacks.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace accel::runtime {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kMostPages = 16;  // 64 KiB: deeper frames are the outer ones

bool peek(std::uint64_t address, void* out, std::size_t bytes) {
  const iovec here = {out, bytes};
  const iovec there = {reinterpret_cast<void*>(address), bytes};  // NOLINT(performance-no-int-to-ptr)
  return ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

#if defined(__x86_64__)
// The forms of a call: relative, and through a register or memory with every length of address.
bool is_call_before(const std::uint8_t (&code)[8]) {
  const auto indirect = [&](std::size_t bytes) { return code[8 - bytes] == 0xFF && (code[9 - bytes] & 0x38) == 0x10; };
  return code[3] == 0xE8 || indirect(2) || indirect(3) || indirect(4) || indirect(6) || indirect(7);
}
#elif defined(__aarch64__)
bool is_call_before(const std::uint8_t (&code)[8]) {
  std::uint32_t instruction = 0;
  std::memcpy(&instruction, code + 4, sizeof instruction);
  return (instruction & 0xFC000000U) == 0x94000000U || (instruction & 0xFFFFFC1FU) == 0xD63F0000U;
}
#else
bool is_call_before(const std::uint8_t (&)[8]) { return false; }
#endif

// Where the thread stands: the last two words of the line.
StackRead where(const char* tid, std::uint64_t& stack, std::uint64_t& counter) {
  char path[64];
  char line[300];
  std::snprintf(path, sizeof path, "/proc/self/task/%.20s/syscall", tid);
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return StackRead::hidden;
  const ssize_t got = ::read(fd, line, sizeof line - 1);
  ::close(fd);
  if (got <= 0) return StackRead::hidden;
  line[got] = 0;
  if (std::strncmp(line, "running", 7) == 0) return StackRead::runs;
  const char* last = std::strrchr(line, ' ');
  if (last == nullptr || last == line) return StackRead::hidden;
  counter = std::strtoull(last, nullptr, 16);
  const char* before = last - 1;
  while (before > line && *before != ' ') --before;
  stack = std::strtoull(before, nullptr, 16);
  return stack != 0 ? StackRead::found : StackRead::hidden;
}

}  // namespace

void CodeMap::add(const char* line) {
  char* after = nullptr;
  const std::uint64_t start = std::strtoull(line, &after, 16);
  if (*after != '-') return;
  const std::uint64_t end = std::strtoull(after + 1, &after, 16);
  if (std::strlen(after) < 7 || after[3] != 'x') return;
  const std::uint64_t offset = std::strtoull(after + 6, &after, 16);
  const char* path = std::strpbrk(after, "/[");
  const std::size_t bytes = std::strlen(path == nullptr ? "" : path) + 1;
  if (count_ == kMostRanges || text_bytes_ + bytes > kMostText) return;
  std::memcpy(texts_ + text_bytes_, path == nullptr ? "" : path, bytes);
  ranges_[count_++] = {start, end, offset, text_bytes_};
  text_bytes_ += static_cast<std::uint32_t>(bytes);
}

void CodeMap::fill() {
  count_ = text_bytes_ = 0;
  const int fd = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char buffer[8192];
  std::size_t used = 0;
  for (ssize_t got = 1; got > 0;) {
    got = ::read(fd, buffer + used, sizeof buffer - 1 - used);
    if (got > 0) used += static_cast<std::size_t>(got);
    buffer[used] = 0;
    char* line = buffer;
    for (char* end = std::strchr(line, '\n'); end != nullptr; end = std::strchr(line, '\n')) {
      *end = 0;
      add(line);
      line = end + 1;
    }
    used -= static_cast<std::size_t>(line - buffer);
    if (used == sizeof buffer - 1) used = 0;  // no path is so long
    std::memmove(buffer, line, used);
  }
  ::close(fd);
}

const CodeMap::Range* CodeMap::find(std::uint64_t address) const {
  std::uint32_t low = 0;
  std::uint32_t high = count_;
  while (low < high) {  // the system lists them in order
    const std::uint32_t middle = (low + high) / 2;
    if (ranges_[middle].end <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < count_ && ranges_[low].start <= address ? &ranges_[low] : nullptr;
}

StackRead find_calls(const char* tid, const CodeMap& code, std::uint64_t (&addresses)[kMostFrames],
                     std::uint32_t& count) {
  count = 0;
  if (std::strtol(tid, nullptr, 10) == ::syscall(SYS_gettid)) return StackRead::own;
  std::uint64_t stack = 0;
  std::uint64_t counter = 0;
  const StackRead read = where(tid, stack, counter);
  if (read != StackRead::found) return read;
  if (code.find(counter) != nullptr) addresses[count++] = counter;
  std::uint64_t words[kPage / sizeof(std::uint64_t)];
  std::uint64_t at = stack & ~std::uint64_t{7};
  for (std::size_t page = 0; page < kMostPages && count < kMostFrames; ++page) {
    const std::size_t bytes = kPage - at % kPage;
    if (!peek(at, words, bytes)) return page == 0 ? StackRead::hidden : StackRead::found;
    for (std::size_t k = 0; k < bytes / sizeof words[0] && count < kMostFrames; ++k) {
      std::uint8_t before[8];
      if (words[k] < sizeof before || code.find(words[k]) == nullptr) continue;
      if (peek(words[k] - sizeof before, before, sizeof before) && is_call_before(before))
        addresses[count++] = words[k];
    }
    at += bytes;
  }
  return StackRead::found;
}

}  // namespace accel::runtime
