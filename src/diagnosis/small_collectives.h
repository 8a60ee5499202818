// The small collectives of a job's mean step: those whose size does not matter for how long they take. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "fusion/job.h"

namespace accel {

struct SmallCollectives {
  std::string name;  // the operation that most of them are
  std::uint32_t group = 0;
  double per_step = 0;
  double exposed_ns = 0;   // per step, transfer alone
  double transfer_ns = 0;  // mean of one
  std::int64_t largest_bytes = 0;
  std::int64_t total_bytes = 0;  // per step
};

// Of the operation and group with most of them; nothing where there are none.
SmallCollectives find_small_collectives(const fusion::Job& job);

}  // namespace accel
