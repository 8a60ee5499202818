#include "cli/console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "report/plain_text.h"

namespace accel::cli {
namespace {

constexpr auto kFirstAfter = std::chrono::milliseconds(400);  // short work shows nothing
constexpr auto kEvery = std::chrono::milliseconds(100);
constexpr std::size_t kColumnsOfPipe = 100;
constexpr std::size_t kNarrowest = 60;
constexpr std::size_t kWidest = 120;

void print(std::string_view kind, std::string_view message) {
  const std::string line = fmt::format("accel-profiler: {}: {}\n", kind, report::visible_text(message));
  std::fwrite(line.data(), 1, line.size(), stderr);
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

}  // namespace

void print_error(std::string_view message) { print("error", message); }

void print_error(const Error& error) {
  print_error(error.where.empty() ? error.message : error.where + ": " + error.message);
}

void print_warning(std::string_view message) { print("warning", message); }

int finish_output(int status) {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good()) return status;
  print_error(fmt::format("standard output cannot be written: {}", std::strerror(errno)));
  return kUnreadable;
}

bool colour_wanted(bool no_colour_option) {
  if (no_colour_option || is_set("NO_COLOR") || ::isatty(STDOUT_FILENO) == 0) return false;
  const char* terminal = std::getenv("TERM");
  return terminal != nullptr && std::string_view(terminal) != "dumb";
}

std::size_t terminal_columns() {
  winsize size = {};
  if (::isatty(STDOUT_FILENO) == 0 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return kColumnsOfPipe;
  return std::clamp<std::size_t>(size.ws_col, kNarrowest, kWidest);
}

ConsoleProgress::ConsoleProgress(bool quiet, std::string subject)
    : shown_(!quiet && ::isatty(STDERR_FILENO) != 0),
      subject_(report::visible_text(subject)),
      next_(std::chrono::steady_clock::now() + kFirstAfter) {}

ConsoleProgress::~ConsoleProgress() {
  if (dirty_) std::fputs("\r\x1b[K", stderr);
}

bool ConsoleProgress::report(std::string_view stage, std::uint64_t done, std::uint64_t total) {
  if (shown_) {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now >= next_) {
      next_ = now + kEvery;
      std::string line = "\r\x1b[K" + subject_ + ": " + std::string(stage);
      if (total > 0)
        line += fmt::format(
            " {} %", static_cast<int>(100.0 * static_cast<double>(std::min(done, total)) / static_cast<double>(total)));
      std::fputs(line.c_str(), stderr);
      std::fflush(stderr);
      dirty_ = true;
    }
  }
  return interrupted();
}

}  // namespace accel::cli
