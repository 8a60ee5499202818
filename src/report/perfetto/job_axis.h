// Where the ranks of a job stand on its common time axis, and through which of their records its collectives go: what
// PerfettoTrace needs of a job. Keeps a reference to the job. Any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "fusion/job.h"
#include "report/perfetto/perfetto.h"

namespace accel::report {

class JobAxis {
 public:
  explicit JobAxis(const fusion::Job& job);

  // `row` of job.set.ranks, and the trace that its digest was made from.
  RankOnAxis of(std::size_t row, const TraceStore& store) const;

 private:
  struct Member {
    std::uint32_t event;  // row of the rank's events
    std::uint64_t flow;
  };

  const fusion::Job& job_;
  std::int64_t shift_ns_ = 0;                 // the format has no times before its zero
  std::vector<std::vector<Member>> members_;  // by rank
};

}  // namespace accel::report
