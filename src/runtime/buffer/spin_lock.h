// A lock for sections of a few hundred nanoseconds that no system call is made in. Waiters yield, so that a preempted
// owner gets its turn. Not for signal handlers.
#pragma once

#include <sched.h>

#include <atomic>

namespace accel::runtime {

class SpinLock {
 public:
  void lock() {
    for (unsigned tries = 0; taken_.exchange(true, std::memory_order_acquire); ++tries) {
      if (tries > 64) ::sched_yield();
    }
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

class SpinGuard {
 public:
  explicit SpinGuard(SpinLock& lock) : lock_(lock) { lock_.lock(); }
  ~SpinGuard() { lock_.unlock(); }
  SpinGuard(const SpinGuard&) = delete;
  SpinGuard& operator=(const SpinGuard&) = delete;

 private:
  SpinLock& lock_;
};

}  // namespace accel::runtime
