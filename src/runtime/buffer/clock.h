// The recording's clock: the processor's time-stamp counter where it is invariant and the kernel itself trusts it, else
// CLOCK_MONOTONIC in nanoseconds. Chosen once, before anything records; reading it is safe on any thread and in signal
// handlers.
#pragma once

#include <cstdint>
#include <ctime>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace accel::runtime {

struct ClockPair {
  std::uint64_t ticks = 0;
  std::int64_t realtime_ns = 0;
  std::int64_t monotonic_ns = 0;
  std::uint32_t uncertainty_ns = 0;
};

extern bool g_clock_is_tsc;  // NOLINT(bugprone-dynamic-static-initializers): a declaration

// Decides which clock it is. Idempotent; a few system calls the first time.
void choose_clock();
bool clock_is_tsc();
// Of the chosen clock, by calibration against CLOCK_MONOTONIC since choose_clock(); improves with time. 1e9 without
// TSC. Waits up to 10 ms right after choose_clock().
std::uint64_t tick_hz();
// The same, never waiting: less exact in the first 10 ms.
double ticks_per_second();
ClockPair read_clock_pair();

inline std::int64_t monotonic_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}
inline std::int64_t realtime_ns() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

inline std::uint64_t ticks() {
#if defined(__x86_64__)
  if (__builtin_expect(static_cast<long>(g_clock_is_tsc), 1) != 0) return __rdtsc();
#endif
  return static_cast<std::uint64_t>(monotonic_ns());
}

}  // namespace accel::runtime
