#include "runtime/session/start_command.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace accel::runtime {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;
constexpr std::size_t kMostAdded = 4;

// The environment as the kernel keeps it: texts with a zero behind each. Empty when it cannot be read.
class FirstEnvironment {
 public:
  FirstEnvironment() : text_(static_cast<char*>(std::malloc(kMostBytes))) {
    const int fd = text_ == nullptr ? -1 : ::open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
    for (ssize_t got = 1; fd >= 0 && got > 0 && used_ < kMostBytes - 1;) {
      got = ::read(fd, text_ + used_, kMostBytes - 1 - used_);
      if (got > 0) used_ += static_cast<std::size_t>(got);
    }
    if (fd >= 0) ::close(fd);
    if (text_ != nullptr) text_[used_] = 0;
  }
  ~FirstEnvironment() { std::free(text_); }
  FirstEnvironment(const FirstEnvironment&) = delete;
  FirstEnvironment& operator=(const FirstEnvironment&) = delete;

  template <typename Each>
  void each(Each&& visit) const {
    for (std::size_t at = 0; at < used_; at += std::strlen(text_ + at) + 1) {
      if (text_[at] != 0) visit(text_ + at);
    }
  }

 private:
  char* text_;
  std::size_t used_ = 0;
};

}  // namespace

// The shell ends at once: it is the only child that the host could notice, for some milliseconds, and nobody has to
// wait for the command itself.
const char* start_command(const char* script, const char* const* variables, std::size_t count) {
  char line[700];
  const int length = std::snprintf(line, sizeof line, "{ %s\n} </dev/null >/dev/null 2>&1 &", script);
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof line) return "the command is too long";
  const FirstEnvironment first;
  std::size_t known = 0;
  first.each([&](char*) { ++known; });
  auto** environment = static_cast<char**>(std::malloc((known + kMostAdded + 1) * sizeof(char*)));
  if (environment == nullptr) return "memory is short";
  std::size_t at = 0;
  for (; at < count && at < kMostAdded; ++at) environment[at] = const_cast<char*>(variables[at]);
  first.each([&](char* text) { environment[at++] = text; });
  environment[at] = nullptr;
  posix_spawnattr_t attributes;
  sigset_t none;
  sigset_t defaults;
  ::sigemptyset(&none);
  ::sigfillset(&defaults);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  char shell[] = "/bin/sh";
  char flag[] = "-c";
  char* words[] = {shell, flag, line, nullptr};
  pid_t child = -1;
  const int error = ::posix_spawn(&child, shell, nullptr, &attributes, words, environment);
  ::posix_spawnattr_destroy(&attributes);
  std::free(environment);
  if (error != 0) return "the command could not be started";
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return nullptr;
}

bool have_program(const char* name) {
  const FirstEnvironment first;
  bool found = false;
  first.each([&](const char* text) {
    if (std::strncmp(text, "PATH=", 5) != 0) return;
    for (const char* folder = text + 5; !found;) {
      const std::size_t bytes = std::strcspn(folder, ":");
      char path[1024];
      std::snprintf(path, sizeof path, "%.*s/%s", static_cast<int>(bytes), folder, name);
      found = bytes > 0 && ::access(path, X_OK) == 0;
      if (folder[bytes] == 0) break;
      folder += bytes + 1;
    }
  });
  return found;
}

}  // namespace accel::runtime
