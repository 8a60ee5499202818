// The fused job: ranks, matched collectives, clocks, stragglers, the critical path over all ranks, and the paths
// between devices. Made once from digests and constant from then on; any thread may read it.
#pragma once

#include <vector>

#include "fusion/clock_alignment/clock_alignment.h"
#include "fusion/collective_matching/collective_matching.h"
#include "fusion/critical_path/job_path.h"
#include "fusion/rank_set/rank_set.h"
#include "fusion/straggler/straggler.h"
#include "fusion/topology/job_topology.h"

namespace accel::fusion {

struct Job {
  RankSet set;
  CollectiveMatching matching;
  ClockAlignment clocks;
  std::vector<CollectiveTiming> timings;  // of matching.collectives
  StragglerAnalysis stragglers;
  std::vector<PathStep> path;  // the critical path over all ranks, step by step
  JobTopology topology;
};

// `topology` of one host, which counts for all of them.
Job fuse(std::vector<RankDigest> digests, std::optional<Topology> topology = std::nullopt);

}  // namespace accel::fusion
