// TickClock: from ticks of a recording's clock to Unix nanoseconds, by the pairs that the recorder took about once a
// second. Durations follow the monotonic clock; one offset for the whole recording leads to the wall clock, so that a
// wall clock that was set in between bends nothing. Built once, then constant: any thread.
#pragma once

#include <cstdint>
#include <vector>

namespace accel::format {

class TickClock {
 public:
  struct Pair {
    std::uint64_t ticks = 0;
    std::int64_t realtime_ns = 0;
    std::int64_t monotonic_ns = 0;
    std::uint32_t uncertainty_ns = 0;
  };

  TickClock() = default;
  // `tick_hz` serves where there is one pair only; 0 = not known (1 GHz is then assumed).
  TickClock(std::vector<Pair> pairs, std::uint64_t tick_hz);

  bool empty() const { return pairs_.empty(); }
  std::int64_t to_ns(std::uint64_t ticks) const;
  // By how much the wall clock left the monotonic one between the pairs.
  std::int64_t wall_clock_shift_ns() const { return shift_ns_; }

 private:
  std::vector<Pair> pairs_;  // ascending ticks, ascending monotonic time
  std::uint64_t tick_hz_ = 0;
  std::int64_t offset_ns_ = 0;  // realtime - monotonic, median
  std::int64_t shift_ns_ = 0;
};

}  // namespace accel::format
