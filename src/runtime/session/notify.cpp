#include "runtime/session/notify.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "runtime/buffer/clock.h"
#include "runtime/session/webhook.h"

extern char** environ;

namespace accel::runtime {
namespace {

constexpr off_t kMostFileBytes = 1 << 20;

const char* to_file(const RecordIdentity& identity, const char* name, const char* message) {
  if (*name == 0 || *name == '.' || std::strchr(name, '/') != nullptr)
    return "a file target is a plain name in the output folder, such as file:alerts.txt";
  char path[1024];
  const int length = std::snprintf(path, sizeof path, "%s/%s", identity.folder, name);
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof path) return "the path of the file is too long";
  if (!make_folders(identity.folder)) return "the output folder cannot be made";
  const int fd = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  struct stat info{};
  if (fd < 0 || ::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    if (fd >= 0) ::close(fd);
    return "the file cannot be written";
  }
  const char* why = nullptr;
  if (info.st_size < kMostFileBytes) {
    char line[1200];
    const std::time_t seconds = static_cast<std::time_t>(realtime_ns() / 1'000'000'000);
    std::tm parts{};
    char when[32] = {};
    if (::gmtime_r(&seconds, &parts) != nullptr) std::strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &parts);
    const int bytes = std::snprintf(line, sizeof line, "%s rank %d: %s\n", when, identity.rank, message);
    const std::size_t wanted = bytes < 0                                       ? 0
                               : static_cast<std::size_t>(bytes) < sizeof line ? static_cast<std::size_t>(bytes)
                                                                               : sizeof line - 1;
    if (::write(fd, line, wanted) != static_cast<ssize_t>(wanted)) why = "the file could not be written whole";
  } else {
    why = "the file has reached 1 MiB";
  }
  ::close(fd);
  return why;
}

// The shell starts the command in the background and ends at once: it is the only child that the host could notice, for
// some milliseconds, and nobody has to wait for the command itself.
const char* to_command(const char* command, const char* message) {
  char script[600];
  const int length = std::snprintf(script, sizeof script, "{ %s\n} </dev/null >/dev/null 2>&1 &", command);
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof script) return "the command is too long";
  char variable[1100];
  std::snprintf(variable, sizeof variable, "ACCEL_MESSAGE=%s", message);
  std::size_t count = 0;
  while (environ[count] != nullptr) ++count;
  auto** environment = static_cast<char**>(std::malloc((count + 2) * sizeof(char*)));
  if (environment == nullptr) return "memory is short";
  environment[0] = variable;
  std::memcpy(environment + 1, environ, (count + 1) * sizeof(char*));
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
  char* words[] = {shell, flag, script, nullptr};
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

}  // namespace

const char* notify(const RecordIdentity& identity, const char* target, const char* message, std::uint32_t allowed) {
  const auto starts = [&](const char* scheme) { return std::strncmp(target, scheme, std::strlen(scheme)) == 0; };
  if (starts("file:")) return to_file(identity, target + 5, message);
  if (starts("command:"))
    return (allowed & kAllowCommands) == 0 ? "commands were not allowed when the session started "
                                             "(ACCEL_ALLOW_COMMANDS, or ACCEL_PROFILER_ALLOW=commands)"
                                           : to_command(target + 8, message);
  const bool secure = starts("https://");
  if (secure || starts("http://")) {
    if ((allowed & kAllowWebhooks) == 0)
      return "webhooks were not allowed when the session started (ACCEL_ALLOW_WEBHOOKS, or "
             "ACCEL_PROFILER_ALLOW=webhooks)";
    return secure ? "https needs the Python package: this library posts to http:// only"
                  : post_webhook(target, message, identity.rank);
  }
  return "a target is file:NAME, command:TEXT or http://HOST[:PORT]/PATH";
}

}  // namespace accel::runtime
