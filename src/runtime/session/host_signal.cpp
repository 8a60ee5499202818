#include "runtime/session/host_signal.h"

#include <cerrno>
#include <csignal>

#include "runtime/session/session.h"

namespace accel::runtime {

extern "C" void accel_runtime_on_signal(int) {
  const int saved = errno;
  session().signal_arrived();
  errno = saved;
}

bool take_host_signal() {
  struct sigaction ours{};
  struct sigaction before{};
  if (::sigaction(SIGUSR1, nullptr, &before) != 0 || (before.sa_flags & SA_SIGINFO) != 0 ||
      before.sa_handler != SIG_DFL)
    return false;
  ours.sa_handler = accel_runtime_on_signal;
  ours.sa_flags = SA_RESTART | SA_ONSTACK;
  ::sigemptyset(&ours.sa_mask);
  if (::sigaction(SIGUSR1, &ours, &before) != 0) return false;
  if ((before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler == SIG_DFL) return true;
  ::sigaction(SIGUSR1, &before, nullptr);  // somebody was faster
  return false;
}

void give_host_signal_back() {
  struct sigaction now{};
  if (::sigaction(SIGUSR1, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
      now.sa_handler == accel_runtime_on_signal)
    ::signal(SIGUSR1, SIG_DFL);
}

}  // namespace accel::runtime
