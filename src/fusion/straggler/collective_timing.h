// What one collective cost whom: who came first and last, how long the others waited, how long the transfer took. Local
// durations are one rank's own; the global duration runs from the first arrival to the last end. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fusion/clock_alignment/clock_alignment.h"

namespace accel::fusion {

struct CollectiveTiming {
  std::uint32_t first = kNoRow;  // rows of RankSet::ranks
  std::uint32_t last = kNoRow;
  bool by_clock = false;         // false: by the local durations, which need no clock
  double arrival_spread_ns = 0;  // first to last arrival
  // First to last end on the aligned clocks: ranks leave together, so that more than their error is a fault of a clock
  // or of the library. Empty without aligned clocks.
  std::optional<double> end_spread_ns;
  double wait_ns = 0;               // mean over the ranks that are not last
  double transfer_ns = 0;           // from the last arrival to the end: the last rank's local duration
  std::optional<double> global_ns;  // first arrival to last end; empty where it cannot be told
  double exposed_ns = 0;            // mean over the ranks: without compute beside it
  std::optional<double> busbw_bytes_per_s;
  std::vector<double> lateness_ns;             // by member: arrival after the median of the others; negative: before
  std::optional<std::uint32_t> last_by_clock;  // where the clocks tell arrivals apart
  double clock_error_ns = 0;                   // of the widest pair of its ranks
};

// Same length and order as CollectiveMatching::collectives.
std::vector<CollectiveTiming> time_collectives(const CollectiveMatching& matching, const ClockAlignment& clocks);

}  // namespace accel::fusion
