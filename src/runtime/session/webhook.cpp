#include "runtime/session/webhook.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/buffer/detached_thread.h"

namespace accel::runtime {
namespace {

constexpr int kTimeLimitMs = 5000;
constexpr int kMostAtOnce = 4;  // a receiver that hangs must not gather threads

std::atomic<int> g_posts{0};

struct Post {
  char host[256];
  char port[8];
  char path[300];
  char body[1600];
};

// Quotes, backslashes and control characters as JSON wants them.
void append_json_text(char* out, std::size_t size, const char* text) {
  std::size_t at = std::strlen(out);
  for (; *text != 0 && at + 8 < size; ++text) {
    const auto c = static_cast<unsigned char>(*text);
    if (c == '"' || c == '\\') {
      out[at++] = '\\';
      out[at++] = *text;
    } else if (c < 0x20) {
      at += static_cast<std::size_t>(std::snprintf(out + at, size - at, "\\u%04x", c));
    } else {
      out[at++] = *text;
    }
  }
  out[at] = 0;
}

bool parse(const char* url, Post& post) {
  const char* host = url + std::strlen("http://");
  const std::size_t host_bytes = std::strcspn(host, ":/?#");
  if (host_bytes == 0 || host_bytes >= sizeof post.host) return false;
  std::memcpy(post.host, host, host_bytes);
  const char* at = host + host_bytes;
  std::memcpy(post.port, "80", sizeof "80");
  if (*at == ':') {
    const std::size_t digits = std::strspn(++at, "0123456789");
    if (digits == 0 || digits >= sizeof post.port) return false;
    std::memcpy(post.port, at, digits);
    post.port[digits] = 0;
    at += digits;
  }
  if (*at != 0 && *at != '/') return false;
  for (const char* c = at; *c != 0; ++c) {  // nothing of a rule becomes a header
    if (static_cast<unsigned char>(*c) <= 0x20 || *c == 0x7f) return false;
  }
  const int length = std::snprintf(post.path, sizeof post.path, "%s", *at == 0 ? "/" : at);
  return length > 0 && static_cast<std::size_t>(length) < sizeof post.path;
}

int connect_within(const addrinfo& address) {
  const int fd = ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  if (::connect(fd, address.ai_addr, address.ai_addrlen) == 0) return fd;
  pollfd wait = {fd, POLLOUT, 0};
  int error = 0;
  socklen_t size = sizeof error;
  if (errno == EINPROGRESS && ::poll(&wait, 1, kTimeLimitMs) == 1 &&
      ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0)
    return fd;
  ::close(fd);
  return -1;
}

void send_post(void* pointer) {
  auto* post = static_cast<Post*>(pointer);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  int fd = -1;
  if (::getaddrinfo(post->host, post->port, &wanted, &found) == 0) {
    fd = connect_within(*found);
    ::freeaddrinfo(found);
  }
  if (fd >= 0) {
    char request[2600];
    const int length =
        std::snprintf(request, sizeof request,
                      "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
                      "Connection: close\r\n\r\n%s",
                      post->path, post->host, std::strlen(post->body), post->body);
    std::size_t sent = 0;
    pollfd wait = {fd, POLLOUT, 0};
    while (sent < static_cast<std::size_t>(length) && ::poll(&wait, 1, kTimeLimitMs) == 1) {
      const ssize_t bytes = ::send(fd, request + sent, static_cast<std::size_t>(length) - sent, MSG_NOSIGNAL);
      if (bytes <= 0) break;
      sent += static_cast<std::size_t>(bytes);
    }
    wait.events = POLLIN;  // let it answer, so that closing does not reset what is on its way
    char answer[256];
    if (::poll(&wait, 1, kTimeLimitMs) == 1) (void)!::recv(fd, answer, sizeof answer, 0);
    ::close(fd);
  }
  std::free(post);
  g_posts.fetch_sub(1);
}

}  // namespace

void webhook_body(char* out, std::size_t size, const char* message, std::int32_t rank) {
  std::snprintf(out, size, "{\"rank\": %d, \"pid\": %ld, \"text\": \"", rank, static_cast<long>(::getpid()));
  append_json_text(out, size - 4, message);
  std::memcpy(out + std::strlen(out), "\"}", sizeof "\"}");
}

const char* post_webhook(const char* url, const char* message, std::int32_t rank) {
  auto* post = static_cast<Post*>(std::calloc(1, sizeof(Post)));
  if (post == nullptr) return "memory is short";
  const char* why = nullptr;
  if (!parse(url, *post)) {
    why = "the address is not of the form http://HOST[:PORT]/PATH";
  } else if (g_posts.fetch_add(1) >= kMostAtOnce) {
    g_posts.fetch_sub(1);
    why = "earlier posts are still waiting for their receiver";
  } else {
    webhook_body(post->body, sizeof post->body, message, rank);
    if (start_detached("accel-webhook", 10, send_post, post)) return nullptr;
    g_posts.fetch_sub(1);
    why = "no thread is to be had";
  }
  std::free(post);
  return why;
}

}  // namespace accel::runtime
