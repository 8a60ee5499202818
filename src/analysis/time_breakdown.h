// Where a step's time goes on each device: compute, exposed copies and sets, communication, idle with its causes, over
// one and the same window; the parts add up to the window exactly. Once as measured, once undisturbed (recording cost
// taken out of the idle causes that it sits in).
#pragma once

#include <vector>

#include "analysis/idle_cause.h"
#include "analysis/step_segmentation.h"

namespace accel {

// Integer ns summed over `count` windows; divide by count for the mean. window = compute + memory_exposed +
// communication_exposed + idle, and idle = sum of idle_causes.
struct TimeParts {
  std::int64_t window_ns = 0;
  std::int64_t compute_ns = 0;
  std::int64_t memory_exposed_ns = 0;  // copies and sets during which no kernel ran
  std::int64_t communication_exposed_ns = 0;
  std::int64_t communication_overlapped_ns = 0;  // inside compute; not a part of the sum
  std::int64_t idle_ns = 0;
  IdleByCause idle_causes{};
};

struct DeviceBreakdown {
  std::int64_t device = 0;
  PacedBy window = PacedBy::host;  // host interval or device period
  std::uint32_t count = 0;         // windows summed
  TimeParts measured;
  TimeParts undisturbed;
};

struct TimeBreakdown {
  std::vector<DeviceBreakdown> devices;
};

}  // namespace accel
