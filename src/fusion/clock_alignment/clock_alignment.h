// One time axis for ranks whose clocks disagree: offset and drift of each host's clock from the ends of matched
// collectives, with the error that is left. docs/design/fusion.md derives the estimator. Pure.
//
// All ranks of a host share its clock; ranks of unknown hosts each have their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fusion/collective_matching/collective_matching.h"

namespace accel::fusion {

struct HostClock {
  std::string host;  // "rank 3" where the host is not recorded
  bool host_known = false;
  std::vector<std::uint32_t> ranks;  // rows of RankSet::ranks
  bool aligned = false;              // the first host is by definition
  std::string method;                // "reference", "ends of 64 collectives", or why it is not aligned
  // common time = t + shift_ns + drift * (t - origin_ns) on this host's clock
  std::int64_t origin_ns = 0;  // middle of the collectives used
  double shift_ns = 0;         // relative to coarse_ns
  std::int64_t coarse_ns = 0;  // whole part of the shift: clocks may have different epochs
  double drift = 0;
  double spread_ns = 0;      // of the residuals of the collectives used, robust
  double systematic_ns = 0;  // what the fit cannot tell from an offset: mostly who arrives last
  std::uint64_t anchors = 0;

  // What an aligned time may be off by.
  double residual_ns() const { return spread_ns + systematic_ns; }
  // Its clock less that of the first host, in the middle of the collectives used.
  double offset_ns() const { return 0 - (static_cast<double>(coarse_ns) + shift_ns); }
};

struct ClockAlignment {
  std::vector<HostClock> hosts;             // the first is the reference
  std::vector<std::uint32_t> host_of_rank;  // by row of RankSet::ranks
  // No rank of an all-to-all collective ends before every rank has arrived: checked on the aligned times.
  std::uint64_t causality_checked = 0;
  std::uint64_t causality_violated = 0;  // beyond the residuals
  double causality_worst_ns = 0;         // an end before the last arrival, as found

  // Time of a rank on the common axis. Meaningful where its host is aligned.
  std::int64_t common_ns(std::uint32_t rank, std::int64_t time_ns) const;
  bool aligned(std::uint32_t rank) const { return hosts[host_of_rank[rank]].aligned; }
  // Error of a difference between two ranks' times; 0 on one host.
  double error_ns(std::uint32_t a, std::uint32_t b) const;
  // Worst of all aligned hosts.
  double worst_residual_ns() const;
};

ClockAlignment align_clocks(const RankSet& set, const CollectiveMatching& matching);

}  // namespace accel::fusion
