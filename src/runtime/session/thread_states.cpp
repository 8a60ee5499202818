#include "runtime/session/thread_states.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/buffer/clock.h"

namespace accel::runtime {
namespace {

constexpr int kMostThreads = 2000;
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

void write_thread(int fd, const char* tid) {
  char path[64];
  char name[64];
  char stat[512];
  char waits[128];
  char schedule[128];
  std::snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", tid);
  if (!read_small(path, name, sizeof name)) return;  // it ended meanwhile
  std::snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", tid);
  read_small(path, stat, sizeof stat);
  std::snprintf(path, sizeof path, "/proc/self/task/%.20s/wchan", tid);
  const bool known_wait = read_small(path, waits, sizeof waits) && std::strcmp(waits, "0") != 0;
  std::snprintf(path, sizeof path, "/proc/self/task/%.20s/schedstat", tid);
  read_small(path, schedule, sizeof schedule);
  const char* after_name = std::strrchr(stat, ')');
  const char state = after_name != nullptr && after_name[1] == ' ' ? after_name[2] : '?';
  const double cpu_ms = static_cast<double>(std::strtoull(schedule, nullptr, 10)) * 1e-6;
  char line[512];
  const int length = std::snprintf(line, sizeof line, "thread %s %s: state %c, %.1f ms of processor time%s%s\n", tid,
                                   name, state, cpu_ms, known_wait ? ", waits in " : "", known_wait ? waits : "");
  if (length > 0) (void)!::write(fd, line, static_cast<std::size_t>(length));
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
  DIR* tasks = ::opendir("/proc/self/task");
  int count = 0;
  while (tasks != nullptr && count < kMostThreads) {
    const dirent* entry = ::readdir(tasks);
    if (entry == nullptr) break;
    if (entry->d_name[0] == '.') continue;
    write_thread(fd, entry->d_name);
    ++count;
  }
  if (tasks != nullptr) ::closedir(tasks);
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
