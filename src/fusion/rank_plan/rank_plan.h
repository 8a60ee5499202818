// Which ranks of a large job to record in full. All of them cost too much; a few that differ in where they are, and
// those that are already suspected, tell what holds the job up. docs/design/fusion.md states the policy. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fusion/job.h"

namespace accel::fusion {

struct RankPlanRequest {
  std::int64_t world_size = 0;       // at least 1
  std::int64_t ranks_per_host = 0;   // 0: not known
  std::int64_t pipeline_stages = 1;  // each of world_size / pipeline_stages ranks that follow each other
  std::int64_t most = 16;            // ranks to record; suspects, the first and the last rank are never left out
  std::vector<std::int64_t> suspects;
  // By rank, where the digests' sends and receives show it; counts before pipeline_stages. Empty: not known.
  std::vector<std::uint32_t> stage;
};

struct PlannedRank {
  std::int64_t rank = 0;
  std::string reason;  // phrases, joined by "; "
};

// What is wrong with a request, a sentence without its full stop; empty: nothing.
std::string fault_of(const RankPlanRequest& request);

// Ascending by rank. Linear in what is planned.
std::vector<PlannedRank> plan_ranks(const RankPlanRequest& request);

// Ranks that the digests of a job name: late ones, those that part from what the others issue, and those that are
// missing, of which nothing is known. Ascending.
std::vector<std::int64_t> suspects_of(const Job& job);

// The stage of each rank as the digests of a job show it; empty where there is no pipeline.
std::vector<std::uint32_t> stages_of(const Job& job);
// Of the host with most ranks; 0 where hosts are not recorded.
std::int64_t ranks_per_host_of(const Job& job);

}  // namespace accel::fusion
