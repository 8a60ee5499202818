// The control socket: a Unix socket in a folder of the user's own (mode 0700, checked), one per process, one line a
// request and one line an answer. Only the same user and root are answered. Also the lock that tells a second copy of
// the library in this process that there is a first. Control thread only, except where said.
#pragma once

#include <cstddef>
#include <string_view>

namespace accel::runtime {

// The folder of the user's own for sockets and locks, made when needed: a real one, ours, and closed to others. 0 or
// errno.
int private_folder(char* path, std::size_t size);

class ControlSocket {
 public:
  // Makes folder and lock, and the socket when `listens`. 0; EBUSY: another copy of the library has this process; else
  // errno: no socket, go on without. Two containers that share the folder may have a process of the same number: the
  // lock knows the PID namespace, and the second takes a longer name.
  int open(bool listens);
  int descriptor() const { return listen_; }
  // Answers the waiting client within a second: `answer` turns a request into an answer (without its line end).
  template <typename Answer>
  void serve(Answer&& answer) {
    char request[2048];
    const int client = accept_request(request, sizeof request);
    if (client < 0) return;
    char reply[2048];
    answer(std::string_view(request), reply, sizeof reply);
    finish_request(client, reply);
  }
  void close();
  // In the child of a fork: closes what was inherited and removes nothing.
  void forget();
  const char* path() const { return path_; }

 private:
  int take_lock(const char* folder);
  int accept_request(char* request, std::size_t size);
  void finish_request(int client, const char* reply);

  int listen_ = -1;
  int lock_ = -1;
  char path_[104] = {};  // what sockaddr_un takes
};

}  // namespace accel::runtime
