#include "runtime/session/notify.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <ctime>

#include "runtime/buffer/clock.h"
#include "runtime/session/start_command.h"
#include "runtime/session/webhook.h"

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

const char* to_command(const char* command, const char* message) {
  char variable[1100];
  std::snprintf(variable, sizeof variable, "ACCEL_MESSAGE=%s", message);
  const char* const variables[] = {variable};
  return start_command(command, variables, 1);
}

// Certificates and proxies are what curl is for. The address and the text reach it as variables: neither is ever text
// of a shell.
const char* to_https(const RecordIdentity& identity, const char* url, const char* message) {
  for (const char* c = url; *c != 0; ++c) {
    if (static_cast<unsigned char>(*c) <= 0x20 || *c == 0x7f) return "the address is not of the form https://HOST/PATH";
  }
  if (std::strlen(url) <= std::strlen("https://")) return "the address is not of the form https://HOST/PATH";
  if (!have_program("curl")) return "https needs the program curl on the PATH that the process was started with";
  char target[400];
  char body[1700];
  std::snprintf(target, sizeof target, "ACCEL_TARGET=%s", url);
  std::memcpy(body, "ACCEL_BODY=", sizeof "ACCEL_BODY=");
  const std::size_t head = std::strlen(body);
  webhook_body(body + head, sizeof body - head, message, identity.rank);
  const char* const variables[] = {target, body};
  return start_command(
      "curl --silent --globoff --proto =https --max-time 10 --header 'Content-Type: application/json' "
      "--data-raw \"$ACCEL_BODY\" --url \"$ACCEL_TARGET\"",
      variables, 2);
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
    return secure ? to_https(identity, target, message) : post_webhook(target, message, identity.rank);
  }
  return "a target is file:NAME, command:TEXT, http://HOST[:PORT]/PATH or https://HOST[:PORT]/PATH";
}

}  // namespace accel::runtime
