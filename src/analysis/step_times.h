// The complete steps of a rank as one set of host times: how much of a stretch lies in them. Remembers the step of the
// last question, since successive questions are mostly about the same step; one per thread.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/step_segmentation.h"
#include "base/interval_set.h"

namespace accel {

class StepTimes {
 public:
  explicit StepTimes(const StepSegmentation& segmentation);

  std::int64_t total() const { return total_; }
  // Time of complete steps before this time.
  std::int64_t until(std::int64_t time_ns);
  std::int64_t between(std::int64_t from_ns, std::int64_t to_ns) {
    const std::int64_t from = until(from_ns);
    return until(to_ns) - from;
  }
  bool holds(std::int64_t time_ns);

 private:
  // The last window that starts at or before the time, else the first.
  void find(std::int64_t time_ns);

  std::vector<Interval> windows_;
  std::vector<std::int64_t> before_;
  std::int64_t total_ = 0;
  std::size_t at_ = 0;
};

}  // namespace accel
