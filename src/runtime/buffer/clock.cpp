#include "runtime/buffer/clock.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace accel::runtime {

bool g_clock_is_tsc = false;

namespace {

constexpr std::int64_t kGoodBaseNs = 10'000'000;

bool g_chosen = false;
ClockPair g_first;

bool processor_has_invariant_tsc() {
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned kInvariant = 1U << 8;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & kInvariant) != 0;
#else
  return false;
#endif
}

// The kernel watches the counters of all sockets and leaves them when they drift apart.
bool kernel_uses_tsc() {
  char text[16] = {};
  const int fd = ::open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t got = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  return got >= 3 && std::strncmp(text, "tsc", 3) == 0 && (text[3] == '\n' || text[3] == 0);
}

}  // namespace

void choose_clock() {
  if (g_chosen) return;
  g_clock_is_tsc = processor_has_invariant_tsc() && kernel_uses_tsc();
  g_first = read_clock_pair();
  g_chosen = true;
}

bool clock_is_tsc() { return g_clock_is_tsc; }

ClockPair read_clock_pair() {
  // The reading with the least time around it was not interrupted.
  ClockPair best;
  best.uncertainty_ns = ~0U;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const std::int64_t before = monotonic_ns();
    const std::uint64_t t1 = ticks();
    const std::int64_t wall = realtime_ns();
    const std::uint64_t t2 = ticks();
    const std::int64_t after = monotonic_ns();
    const std::int64_t around = after - before;
    if (around < 0 || around >= best.uncertainty_ns) continue;
    best = {t1 + (t2 - t1) / 2, wall, before + around / 2, static_cast<std::uint32_t>(around)};
  }
  return best;
}

double ticks_per_second() {
  static std::atomic<double> known{0};
  if (!g_clock_is_tsc) return 1e9;
  const double before = known.load(std::memory_order_relaxed);
  if (before != 0) return before;
  const ClockPair now = read_clock_pair();
  const std::int64_t base_ns = now.monotonic_ns - g_first.monotonic_ns;
  if (base_ns <= 0) return 1e9;
  const double hz = static_cast<double>(now.ticks - g_first.ticks) * 1e9 / static_cast<double>(base_ns);
  if (base_ns >= kGoodBaseNs) known.store(hz, std::memory_order_relaxed);
  return hz;
}

std::uint64_t tick_hz() {
  constexpr std::int64_t kSecond = 1'000'000'000;
  if (!g_clock_is_tsc) return kSecond;
  ClockPair now = read_clock_pair();
  while (now.monotonic_ns - g_first.monotonic_ns < kGoodBaseNs) {
    const timespec pause = {0, kGoodBaseNs / 4};
    ::nanosleep(&pause, nullptr);
    now = read_clock_pair();
  }
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(Wide{now.ticks - g_first.ticks} * kSecond /
                                    static_cast<std::uint64_t>(now.monotonic_ns - g_first.monotonic_ns));
}

}  // namespace accel::runtime
