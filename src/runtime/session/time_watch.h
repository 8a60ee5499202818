// TimeWatch: sees that a process stood still (stopped, or starved) and that the system's clock was set, from the times
// at which the control thread looks. Pure.
#pragma once

#include <cstdint>

namespace accel::runtime {

class TimeWatch {
 public:
  struct Seen {
    std::int64_t stood_still_ns = 0;  // 0: it did not
    std::int64_t set_by_ns = 0;       // 0: it was not
  };
  void begin(std::int64_t monotonic_ns, std::int64_t realtime_ns) {
    looked_ns_ = monotonic_ns;
    offset_ns_ = realtime_ns - monotonic_ns;
  }
  // Expected every 10 ms.
  Seen look(std::int64_t monotonic_ns, std::int64_t realtime_ns) {
    constexpr std::int64_t kStandStillNs = 2'000'000'000;
    constexpr std::int64_t kSetByNs = 100'000'000;  // NTP slews by less
    Seen seen;
    if (monotonic_ns - looked_ns_ > kStandStillNs) seen.stood_still_ns = monotonic_ns - looked_ns_;
    looked_ns_ = monotonic_ns;
    const std::int64_t moved = realtime_ns - monotonic_ns - offset_ns_;
    if (moved >= kSetByNs || moved <= -kSetByNs) {
      seen.set_by_ns = moved;
      offset_ns_ += moved;
    }
    return seen;
  }

 private:
  std::int64_t looked_ns_ = 0;
  std::int64_t offset_ns_ = 0;  // CLOCK_REALTIME less CLOCK_MONOTONIC
};

}  // namespace accel::runtime
