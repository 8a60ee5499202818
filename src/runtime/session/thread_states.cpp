#include "runtime/session/thread_states.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/buffer/clock.h"
#include "runtime/session/call_stacks.h"
#include "runtime/session/mapped.h"
#include "runtime/session/symbol_names.h"

namespace accel::runtime {
namespace {

constexpr std::uint32_t kMostThreads = 2000;
constexpr std::uint32_t kMostNames = 4096;
constexpr double kMsPerSecond = 1e3;

// A small file of the system in `text`, its newlines as blanks, the last one left out.
bool read_small(const char* path, char* text, std::size_t size) {
  text[0] = 0;
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t got = ::read(fd, text, size - 1);
  ::close(fd);
  text[got < 0 ? 0 : got] = 0;
  if (got > 0 && text[got - 1] == '\n') text[got - 1] = 0;
  for (char* c = text; *c != 0; ++c) {
    if (*c == '\n') *c = ' ';
  }
  return got > 0;
}

struct Open {
  int fd;
  const NameRegistry* names;
  std::uint64_t now;
};

void write_open_scope(void* context, std::uint32_t thread, const ScopeRecord& record) {
  const auto& open = *static_cast<Open*>(context);
  if (record.name == 0 || record.name > open.names->count()) return;
  const std::string_view text = open.names->entry(record.name).text();
  char line[700];
  const int length = std::snprintf(line, sizeof line, "  recording thread %u, for %.1f ms: %.*s\n", thread,
                                   static_cast<double>(open.now - record.begin) * kMsPerSecond / ticks_per_second(),
                                   static_cast<int>(text.size()), text.data());
  if (length > 0) (void)!::write(open.fd, line, static_cast<std::size_t>(length));
}

struct Thread {
  char line[300];
  StackRead read;
  std::uint32_t count;
  std::uint64_t addresses[kMostFrames];
};

// All that is gathered before anything is written, so that the slow part, the names, comes when every thread was seen.
struct Stacks {
  CodeMap code;
  std::uint32_t threads;
  std::uint32_t names;
  Thread thread[kMostThreads];
  std::uint64_t address[kMostNames];  // in order, each once
  const CodeMap::Range* range[kMostNames];
  SymbolQuery name[kMostNames];
};

bool look_at_thread(const char* tid, Stacks& stacks) {
  Thread& thread = stacks.thread[stacks.threads];
  char path[64];
  char name[64];
  char stat[512];
  char waits[128];
  char schedule[128];
  std::snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", tid);
  if (!read_small(path, name, sizeof name)) return false;  // it ended meanwhile
  std::snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", tid);
  read_small(path, stat, sizeof stat);
  std::snprintf(path, sizeof path, "/proc/self/task/%.20s/wchan", tid);
  const bool known_wait = read_small(path, waits, sizeof waits) && std::strcmp(waits, "0") != 0;
  std::snprintf(path, sizeof path, "/proc/self/task/%.20s/schedstat", tid);
  read_small(path, schedule, sizeof schedule);
  const char* after_name = std::strrchr(stat, ')');
  const char state = after_name != nullptr && after_name[1] == ' ' ? after_name[2] : '?';
  const double cpu_ms = static_cast<double>(std::strtoull(schedule, nullptr, 10)) * 1e-6;
  std::snprintf(thread.line, sizeof thread.line, "thread %.20s %s: state %c, %.1f ms of processor time%s%s\n", tid,
                name, state, cpu_ms, known_wait ? ", waits in " : "", known_wait ? waits : "");
  thread.read = find_calls(tid, stacks.code, thread.addresses, thread.count);
  return true;
}

int by_address(const void* left, const void* right) {
  const std::uint64_t a = *static_cast<const std::uint64_t*>(left);
  const std::uint64_t b = *static_cast<const std::uint64_t*>(right);
  return a < b ? -1 : a > b ? 1 : 0;
}

// The addresses of all threads, each once; beyond the room they stay without a name.
void gather_addresses(Stacks& stacks) {
  for (std::uint32_t t = 0; t < stacks.threads; ++t) {
    const Thread& thread = stacks.thread[t];
    for (std::uint32_t k = 0; k < thread.count && stacks.names < kMostNames; ++k) {
      const bool known =
          t > 0 && k < stacks.thread[t - 1].count && stacks.thread[t - 1].addresses[k] == thread.addresses[k];
      if (!known) stacks.address[stacks.names++] = thread.addresses[k];  // pools have the same stack many times
    }
  }
  std::qsort(stacks.address, stacks.names, sizeof stacks.address[0], by_address);
  std::uint32_t kept = 0;
  for (std::uint32_t k = 0; k < stacks.names; ++k) {
    if (kept == 0 || stacks.address[k] != stacks.address[kept - 1]) stacks.address[kept++] = stacks.address[k];
  }
  stacks.names = kept;
}

// Addresses of one mapping lie together, because they are in order and so are the mappings.
void find_names(Stacks& stacks) {
  gather_addresses(stacks);
  for (std::uint32_t k = 0; k < stacks.names; ++k) {
    stacks.range[k] = stacks.code.find(stacks.address[k]);
    const CodeMap::Range* range = stacks.range[k];
    stacks.name[k].file_offset = range == nullptr ? 0 : stacks.address[k] - range->start + range->file_offset;
  }
  for (std::uint32_t first = 0; first < stacks.names;) {
    std::uint32_t last = first + 1;
    while (last < stacks.names && stacks.range[last] == stacks.range[first]) ++last;
    if (stacks.range[first] != nullptr)
      name_symbols(stacks.code.path(*stacks.range[first]), stacks.name + first, last - first);
    first = last;
  }
}

void write_frame(int fd, const Stacks& stacks, std::uint64_t address) {
  char line[500];
  const CodeMap::Range* range = stacks.code.find(address);
  const char* file = range == nullptr ? "" : stacks.code.path(*range);
  const auto* found = static_cast<const std::uint64_t*>(
      std::bsearch(&address, stacks.address, stacks.names, sizeof address, by_address));
  const SymbolQuery* name = found == nullptr ? nullptr : &stacks.name[found - stacks.address];
  int length = 0;
  if (name != nullptr && name->name[0] != 0) {
    length = std::snprintf(line, sizeof line, "    %s+0x%llx  (%.300s)\n", name->name,
                           static_cast<unsigned long long>(name->into), file);
  } else {
    const std::uint64_t offset = range == nullptr ? address : address - range->start + range->file_offset;
    length = std::snprintf(line, sizeof line, "    0x%llx  (%.300s)\n", static_cast<unsigned long long>(offset), file);
  }
  if (length > 0) (void)!::write(fd, line, static_cast<std::size_t>(length));
}

void write_thread(int fd, const Stacks& stacks, const Thread& thread) {
  (void)!::write(fd, thread.line, std::strlen(thread.line));
  const char* none = thread.read == StackRead::runs     ? "    it runs: its calls are not known\n"
                     : thread.read == StackRead::own    ? "    it writes this\n"
                     : thread.read == StackRead::hidden ? "    the system does not show its calls\n"
                                                        : "";
  (void)!::write(fd, none, std::strlen(none));
  for (std::uint32_t k = 0; k < thread.count; ++k) write_frame(fd, stacks, thread.addresses[k]);
}

void write_threads(int fd) {
  auto* stacks = make_mapped<Stacks>();
  DIR* tasks = stacks == nullptr ? nullptr : ::opendir("/proc/self/task");
  if (tasks != nullptr) {
    stacks->code.fill();
    while (stacks->threads < kMostThreads) {
      const dirent* entry = ::readdir(tasks);
      if (entry == nullptr) break;
      if (entry->d_name[0] != '.' && look_at_thread(entry->d_name, *stacks)) ++stacks->threads;
    }
    ::closedir(tasks);
    find_names(*stacks);
    for (std::uint32_t t = 0; t < stacks->threads; ++t) write_thread(fd, *stacks, stacks->thread[t]);
  }
  if (stacks != nullptr) ::munmap(stacks, sizeof(Stacks));
}

// The process's own memory, as the system counts it.
void write_memory(int fd) {
  char text[4096];
  const int status = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (status < 0) return;
  const ssize_t got = ::read(status, text, sizeof text - 1);
  ::close(status);
  text[got < 0 ? 0 : got] = 0;
  for (char* line = text; *line != 0;) {
    char* end = std::strchr(line, '\n');
    const std::size_t bytes = end == nullptr ? std::strlen(line) : static_cast<std::size_t>(end + 1 - line);
    if (std::strncmp(line, "Vm", 2) == 0 || std::strncmp(line, "Rss", 3) == 0) (void)!::write(fd, line, bytes);
    line += bytes;
  }
}

}  // namespace

int write_thread_states(const RecordIdentity& identity, std::uint32_t number, const FrameRecorder& recorder,
                        const NameRegistry& names, bool window_open, char* path, std::size_t path_size) {
  if (!make_folders(identity.folder)) return errno;
  const int length =
      std::snprintf(path, path_size, "%s/pid%ld-stacks%u.txt", identity.folder, static_cast<long>(::getpid()), number);
  if (length < 0 || static_cast<std::size_t>(length) >= path_size) return ENAMETOOLONG;
  const int fd = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return errno;
  constexpr char kHead[] =
      "Calls of threads that wait, innermost first, as found on their stacks: some may be left over from calls that "
      "are "
      "over. C++ names: c++filt < FILE.\n";
  write_memory(fd);
  (void)!::write(fd, kHead, sizeof kHead - 1);
  write_threads(fd);
  constexpr char kOpen[] = "open scopes:\n";
  constexpr char kNone[] = "open scopes: not known, no window is open\n";
  (void)!::write(fd, window_open ? kOpen : kNone, window_open ? sizeof kOpen - 1 : sizeof kNone - 1);
  Open open{fd, &names, ticks()};
  if (window_open)
    recorder.open_scopes({&open, [](void*, std::uint32_t, std::uint32_t, const char*) {}, write_open_scope});
  ::close(fd);
  return 0;
}

}  // namespace accel::runtime
