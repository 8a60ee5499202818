// Where the process groups of a job lie in the topology of its hosts: the path of each group, what its large
// collectives reach over it. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fusion/straggler/collective_timing.h"
#include "fusion/topology/path.h"

namespace accel::fusion {

// Below it a collective is mostly latency, and says nothing about what its path can carry. A ring moves one part per
// rank and hop, so that many ranks need larger messages.
inline constexpr std::int64_t kLargeCollectiveBytes = 16 << 20;
constexpr std::int64_t large_collective_bytes(std::size_t ranks) {
  const std::int64_t parts = static_cast<std::int64_t>(ranks) << 20;
  return parts > kLargeCollectiveBytes ? parts : kLargeCollectiveBytes;
}

struct GroupPath {
  Path path;
  std::uint64_t large = 0;              // collectives large enough to tell a bandwidth, in complete steps
  std::optional<double> achieved_gbps;  // bus bandwidth of the fastest tenth of them
  std::optional<double> typical_gbps;   // of the middle one
};

struct JobTopology {
  std::optional<Topology> topology;  // of one host, taken for all; empty: not given
  std::vector<GroupPath> groups;     // of CollectiveMatching::groups
};

JobTopology place_groups(const RankSet& set, const CollectiveMatching& matching,
                         const std::vector<CollectiveTiming>& timings, std::optional<Topology> topology);

}  // namespace accel::fusion
