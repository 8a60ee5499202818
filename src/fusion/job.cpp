#include "fusion/job.h"

#include <utility>

namespace accel::fusion {

Job fuse(std::vector<RankDigest> digests, std::optional<Topology> topology) {
  Job job;
  job.set = make_rank_set(std::move(digests));
  job.matching = match_collectives(job.set);
  job.clocks = align_clocks(job.set, job.matching);
  job.timings = time_collectives(job.matching, job.clocks);
  const MatchIndex index = index_matching(job.set, job.matching);
  job.stragglers = find_stragglers(job.set, job.matching, job.timings, index);
  job.path = find_job_path(job.set, job.matching, job.timings, index);
  job.topology = place_groups(job.set, job.matching, job.timings, std::move(topology));
  return job;
}

}  // namespace accel::fusion
