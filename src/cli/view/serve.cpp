#include "cli/view/serve.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "cli/interrupt.h"

namespace accel::cli {
namespace {

constexpr std::size_t kMostRequestBytes = 16'384;
constexpr int kPatienceMs = 5'000;  // for a client that says nothing
constexpr int kLookMs = 200;        // between looks at Ctrl-C

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Error system_error(const char* what) { return {ErrorCode::io, fmt::format("{}: {}", what, std::strerror(errno)), ""}; }

Result<std::string> random_token() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return system_error("random numbers");
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

// The request line; empty when the client says nothing in time or too much.
std::string request_line(int client) {
  std::string request;
  std::array<char, 2048> piece{};
  while (request.find("\r\n\r\n") == std::string::npos && request.size() < kMostRequestBytes) {
    pollfd waiting = {client, POLLIN, 0};
    if (poll(&waiting, 1, kPatienceMs) <= 0) return "";
    const ssize_t got = recv(client, piece.data(), piece.size(), 0);
    if (got <= 0) return "";
    request.append(piece.data(), static_cast<std::size_t>(got));
  }
  return request.substr(0, request.find("\r\n"));
}

void send_all(int client, std::string_view bytes) {
  while (!bytes.empty()) {
    pollfd waiting = {client, POLLOUT, 0};
    if (poll(&waiting, 1, kPatienceMs) <= 0) return;
    const ssize_t sent = send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void answer(int client, const std::string& path, const std::string& token) {
  const std::string line = request_line(client);
  const std::string wanted = "/" + token + "/";
  const bool head = line.rfind("HEAD " + wanted + " HTTP/1.", 0) == 0;
  if (!head && line.rfind("GET " + wanted + " HTTP/1.", 0) != 0) {
    send_all(client, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    return;
  }
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  const std::string body = content.str();
  send_all(client, fmt::format("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n"
                               "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                               "Referrer-Policy: no-referrer\r\nConnection: close\r\n\r\n",
                               body.size()));
  if (!head) send_all(client, body);
}

}  // namespace

Result<void> serve_file(const std::string& path, std::uint16_t port,
                        const std::function<void(std::uint16_t port, const std::string& token)>& ready) {
  const auto token = random_token();
  if (!token) return token.error();
  const Descriptor server(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (server.get() < 0) return system_error("socket");
  const int on = 1;
  setsockopt(server.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return system_error("port");
  if (listen(server.get(), 8) != 0) return system_error("listen");
  socklen_t size = sizeof address;
  getsockname(server.get(), reinterpret_cast<sockaddr*>(&address), &size);
  ready(ntohs(address.sin_port), *token);
  while (!interrupted()) {
    pollfd waiting = {server.get(), POLLIN, 0};
    if (poll(&waiting, 1, kLookMs) <= 0) continue;
    const Descriptor client(accept4(server.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client.get() >= 0) answer(client.get(), path, *token);
  }
  return {};
}

}  // namespace accel::cli
