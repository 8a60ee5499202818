#include "cli/interrupt.h"

#include <unistd.h>

#include <csignal>

#include <atomic>

namespace accel::cli {
namespace {

std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free, "needed in a signal handler");

// Work that does not look at interrupted() for this long is ended by the alarm.
constexpr unsigned kPatienceSeconds = 5;

void on_signal(int number) {
  received.store(number, std::memory_order_relaxed);
  alarm(kPatienceSeconds);
}

}  // namespace

void install_interrupt_handlers() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  // The handler serves one signal: the second has its default effect. Reads are not restarted, so that a blocked one
  // (standard input) ends too.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // A file-size limit must come back as an error of write(), which cleans up, and not end the process.
  std::signal(SIGXFSZ, SIG_IGN);
}

bool interrupted() { return received.load(std::memory_order_relaxed) != 0; }

void die_of_interrupt() {
  const int number = received.load();
  if (number == 0) return;
  std::signal(number, SIG_DFL);
  std::raise(number);
}

}  // namespace accel::cli
