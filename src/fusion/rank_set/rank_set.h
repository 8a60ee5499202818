// The ranks of one job out of whatever files were given: one digest per rank, by what the files say and never by their
// names. What does not fit is left out and named. Pure; plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fusion/digest/digest.h"

namespace accel::fusion {

struct LeftOut {
  std::string source;
  std::optional<std::int64_t> rank;
  std::string reason;  // a phrase: "a second file of rank 3"
};

struct RankSet {
  std::vector<RankDigest> ranks;           // ascending by rank, each rank once
  std::int64_t world_size = 0;             // 0: not known
  std::vector<std::int64_t> missing;       // ranks of the job without a file; only where world_size is known
  std::vector<LeftOut> left_out;           // duplicates and files of other jobs
  std::vector<std::int64_t> step_numbers;  // that at least two ranks have, ascending
  std::vector<std::int64_t> apart;         // ranks that share no step with any other
  // By row: position in the pipeline that the rank's sends and receives make it part of; all 0 where there is none.
  // Ranks of different stages do different work, and none of them is late because of that.
  std::vector<std::uint32_t> stage;

  std::int64_t rank_of(std::size_t row) const { return ranks[row].rank.value_or(-1); }
};

RankSet make_rank_set(std::vector<RankDigest> digests);

// At least two ranks of one job.
bool is_job(const RankSet& set);

}  // namespace accel::fusion
