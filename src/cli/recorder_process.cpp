#include "cli/recorder_process.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string_view>

namespace accel::cli {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos && text.size() < 10;
}

// A line of /proc/PID/status, without its name.
std::string status_line(int pid, std::string_view name) {
  std::ifstream in(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(name, 0) == 0 && line.size() > name.size() && line[name.size()] == ':')
      return line.substr(name.size() + 1);
  }
  return {};
}

// The variable as the process was started with it.
std::string variable_of(const std::string& environment, std::string_view name) {
  for (std::size_t at = 0; at < environment.size();) {
    const std::size_t end = std::min(environment.find('\0', at), environment.size());
    if (environment.compare(at, name.size(), name) == 0 && environment[at + name.size()] == '=')
      return environment.substr(at + name.size() + 1, end - at - name.size() - 1);
    at = end + 1;
  }
  return {};
}

// Where the process, seen from here, may have put its socket: its own choice first, and the same names below its root,
// which a container has elsewhere.
std::vector<std::string> socket_paths(int pid) {
  const std::string environment = text_of(fmt::format("/proc/{}/environ", pid));
  struct stat owner{};
  if (::stat(fmt::format("/proc/{}", pid).c_str(), &owner) != 0) return {};
  std::vector<std::string> folders;
  const std::string chosen = variable_of(environment, "ACCEL_PROFILER_RUNTIME_DIR");
  const std::string session = variable_of(environment, "XDG_RUNTIME_DIR");
  if (!chosen.empty()) folders.push_back(chosen);
  if (!session.empty()) folders.push_back(session + "/accel-profiler");
  folders.push_back(fmt::format("/tmp/accel-profiler-{}", owner.st_uid));
  const std::string numbers = status_line(pid, "NSpid");  // the last one is its number in its own namespace
  const std::string own = numbers.substr(numbers.find_last_of(" \t") + 1);
  std::vector<std::string> paths;
  for (const std::string& root : {std::string(), fmt::format("/proc/{}/root", pid)}) {
    for (const std::string& folder : folders) {
      std::error_code gone;
      for (const auto& entry : fs::directory_iterator(root + folder, gone)) {
        const std::string name = entry.path().filename().string();
        if (name == own + ".sock" || (name.rfind(own + "-", 0) == 0 && entry.path().extension() == ".sock"))
          paths.push_back(entry.path().string());
      }
    }
  }
  return paths;
}

class Socket {
 public:
  Socket() : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

bool connect_to(const Socket& socket, const std::string& path, int pid) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.fd() < 0 || path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const timeval limit = {2, 0};
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return false;
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket.fd(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == pid;
}

}  // namespace

std::vector<int> process_tree(int pid) {
  std::map<int, std::vector<int>> children;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator("/proc", gone)) {
    const std::string name = entry.path().filename().string();
    if (!is_number(name)) continue;
    const std::string stat = text_of(entry.path() / "stat");
    const std::size_t after_name = stat.rfind(')');
    if (after_name == std::string::npos || after_name + 4 >= stat.size()) continue;
    children[std::atoi(stat.c_str() + after_name + 4)].push_back(std::stoi(name));
  }
  if (!fs::exists(fmt::format("/proc/{}", pid), gone)) return {};
  std::vector<int> found = {pid};
  for (std::size_t at = 0; at < found.size(); ++at) {
    const auto below = children.find(found[at]);
    if (below == children.end()) continue;
    found.insert(found.end(), below->second.begin(), below->second.end());
    children.erase(below);
  }
  std::sort(found.begin(), found.end());
  return found;
}

Result<std::string> ask_recorder(int pid, const std::string& request) {
  for (const std::string& path : socket_paths(pid)) {
    const Socket socket;
    if (!connect_to(socket, path, pid)) continue;
    const std::string line = request + "\n";
    if (::send(socket.fd(), line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) continue;
    std::string reply;
    char buffer[4096];
    while (reply.find('\n') == std::string::npos) {
      const ssize_t got = ::recv(socket.fd(), buffer, sizeof buffer, 0);
      if (got <= 0) break;
      reply.append(buffer, static_cast<std::size_t>(got));
    }
    if (const std::size_t end = reply.find('\n'); end != std::string::npos) return reply.substr(0, end);
    return Error{ErrorCode::io, "the recorder did not answer within two seconds", fmt::format("process {}", pid)};
  }
  return Error{ErrorCode::not_found, "no recorder listens in it", fmt::format("process {}", pid)};
}

bool takes_wake_signal(int pid) {
  const unsigned long long caught = std::strtoull(status_line(pid, "SigCgt").c_str(), nullptr, 16);
  if ((caught >> (SIGUSR1 - 1) & 1) == 0) return false;
  std::error_code gone;
  for (const auto& task : fs::directory_iterator(fmt::format("/proc/{}/task", pid), gone)) {
    if (text_of(task.path() / "comm") == "accel-control\n") return true;
  }
  return false;
}

}  // namespace accel::cli
