#include "runtime/session/control_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace accel::runtime {

// The folder must be a real one, ours, and closed to others: /tmp is everybody's.
int private_folder(char* path, std::size_t size) {
  const char* chosen = std::getenv("ACCEL_PROFILER_RUNTIME_DIR");
  const char* session = std::getenv("XDG_RUNTIME_DIR");
  int length;
  if (chosen != nullptr && chosen[0] == '/') {
    length = std::snprintf(path, size, "%s", chosen);
  } else if (session != nullptr && session[0] == '/') {
    length = std::snprintf(path, size, "%s/accel-profiler", session);
  } else {
    length = std::snprintf(path, size, "/tmp/accel-profiler-%u", static_cast<unsigned>(::geteuid()));
  }
  if (length < 0 || static_cast<std::size_t>(length) >= size) return ENAMETOOLONG;
  if (::mkdir(path, 0700) != 0 && errno != EEXIST) return errno;
  struct stat info;
  if (::lstat(path, &info) != 0) return errno;
  return S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() && (info.st_mode & 077) == 0 ? 0 : EPERM;
}

// "PID" or, for the second process of that number, "PID-NAMESPACE".
int ControlSocket::take_lock(const char* folder) {
  const auto pid = static_cast<long>(::getpid());
  char space[40] = {};
  const ssize_t length = ::readlink("/proc/self/ns/pid", space, sizeof space - 1);
  const unsigned long long number = length > 5 ? std::strtoull(space + 5, nullptr, 10) : 0;  // pid:[NUMBER]
  char own[24];
  std::snprintf(own, sizeof own, "%llu\n", number);
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (attempt == 0) {
      std::snprintf(path_, sizeof path_, "%s/%ld.lock", folder, pid);
    } else {
      std::snprintf(path_, sizeof path_, "%s/%ld-%llu.lock", folder, pid, number);
    }
    lock_ = ::open(path_, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock_ < 0) return errno;
    if (::flock(lock_, LOCK_EX | LOCK_NB) == 0) {
      (void)!::ftruncate(lock_, 0);
      (void)!::pwrite(lock_, own, std::strlen(own), 0);
      return 0;
    }
    char other[24] = {};
    const bool known = ::pread(lock_, other, sizeof other - 1, 0) > 0;
    ::close(lock_);
    lock_ = -1;
    if (!known || std::strcmp(own, other) == 0) break;
  }
  path_[0] = 0;
  return EBUSY;
}

int ControlSocket::open(bool listens) {
  char folder[70];
  int error = private_folder(folder, sizeof folder);
  if (error == 0) error = take_lock(folder);
  if (error != 0) {
    path_[0] = 0;
    return error;
  }
  std::memcpy(path_ + std::strlen(path_) - 4, "sock", sizeof "sock");
  if (!listens) return 0;
  listen_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listen_ < 0) return errno;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path_, std::strlen(path_) + 1);
  ::unlink(path_);  // left by a dead process of the same number: the lock says that none is alive
  if (::bind(listen_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || ::chmod(path_, 0600) != 0 ||
      ::listen(listen_, 4) != 0) {
    const int failed = errno;
    ::close(listen_);
    listen_ = -1;
    return failed;
  }
  return 0;
}

int ControlSocket::accept_request(char* request, std::size_t size) {
  const int client = ::accept4(listen_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return -1;
  ucred peer{};
  socklen_t length = sizeof peer;
  const bool known = ::getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0;
  const timeval limit = {1, 0};
  ::setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (!known || (peer.uid != ::geteuid() && peer.uid != 0)) {
    finish_request(client, "error: only the user of this process and root are answered");
    return -1;
  }
  std::size_t used = 0;
  while (used + 1 < size) {
    const ssize_t got = ::recv(client, request + used, size - 1 - used, 0);
    if (got <= 0) break;
    used += static_cast<std::size_t>(got);
    if (std::memchr(request, '\n', used) != nullptr) break;
  }
  request[used] = 0;
  char* end = std::strchr(request, '\n');
  if (end == nullptr) {
    finish_request(client, "error: a request is one line");
    return -1;
  }
  *end = 0;
  return client;
}

void ControlSocket::finish_request(int client, const char* reply) {
  char line[2049];
  const int length = std::snprintf(line, sizeof line, "%s\n", reply);
  const std::size_t bytes =
      static_cast<std::size_t>(length) < sizeof line ? static_cast<std::size_t>(length) : sizeof line - 1;
  (void)!::send(client, line, bytes, MSG_NOSIGNAL);
  ::close(client);
}

void ControlSocket::close() {
  if (listen_ >= 0) ::unlink(path_);
  if (lock_ >= 0) {
    char lock_path[104];
    std::snprintf(lock_path, sizeof lock_path, "%s", path_);
    std::memcpy(lock_path + std::strlen(lock_path) - 4, "lock", sizeof "lock");
    ::unlink(lock_path);
  }
  forget();
}

void ControlSocket::forget() {
  if (listen_ >= 0) ::close(listen_);
  if (lock_ >= 0) ::close(lock_);
  listen_ = -1;
  lock_ = -1;
}

}  // namespace accel::runtime
