// Step history: how step times run over the capture. Steps far from the rest and whether they come at regular
// distances, steps at which the pace changed for good, and slow drift. Over the steps that the step time is the mean
// of, so that no mean hides a slow minority. Works from four steps on; what chance alone could make is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/step_segmentation.h"

namespace accel {

// A step far slower than the others of its class near it.
struct SlowStep {
  std::uint32_t step = 0;  // index into StepSegmentation::steps
  std::int64_t duration_ns = 0;
  double usual_ns = 0;  // what the others take
};

// Slow steps come at a fixed distance.
struct StepPattern {
  std::int64_t every = 0;   // steps from one to the next
  std::int64_t number = 0;  // of the first
  std::uint32_t seen = 0;
};

// The pace changed for good at a step.
struct PaceChange {
  std::uint32_t step = 0;  // the first at the new pace
  double before_ns = 0;
  double after_ns = 0;
};

// Every step takes a little longer than the one before (or shorter).
struct StepDrift {
  double ns_per_step = 0;
  double share = 0;  // over the capture, of the median step
};

struct StepHistory {
  std::uint32_t count = 0;  // steps compared
  double usual_ns = 0;      // median without the slow steps; 0 without steps
  std::vector<SlowStep> slow;
  std::optional<StepPattern> pattern;
  std::vector<PaceChange> changes;
  std::optional<StepDrift> drift;
};

}  // namespace accel
