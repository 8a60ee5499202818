// The step as the rules see it: one device's undisturbed step, in ns per step, with the measured one beside it, and how
// far both can be trusted. Made once per diagnosis; a plain value.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/idle_cause.h"
#include "analysis/step_segmentation.h"
#include "base/interval_set.h"

namespace accel {

struct AnalysisResults;

// Mean over the windows, ns per step. window = compute + memory_exposed + communication_exposed + idle.
struct StepParts {
  double window_ns = 0;
  double compute_ns = 0;
  double memory_exposed_ns = 0;
  double communication_exposed_ns = 0;
  double communication_overlapped_ns = 0;
  double idle_ns = 0;
  std::array<double, kIdleCauseCount> idle_by_cause{};

  double idle(IdleCause cause) const { return idle_by_cause[static_cast<std::size_t>(cause)]; }
};

// A reason to believe the figures less; `factor` goes into the confidence of every finding.
struct Doubt {
  std::string text;
  double value = 0;
  std::string unit;
  double factor = 1;
};

struct StepView {
  bool usable = false;               // there is a device that worked, and a window to look at
  bool has_device = false;           // the capture holds device work, in a window or not
  std::int64_t device = -1;          // the device that the verdict is about: the busiest one
  std::vector<Interval> windows;     // of complete steps, on that device
  std::vector<Interval> host_steps;  // the same steps on the host: where calls are counted
  PacedBy paced_by = PacedBy::unknown;
  bool training = true;
  std::string_view unit;    // step, iteration or recorded window: what "per ..." means
  std::string_view a_unit;  // with its article
  StepParts measured;
  StepParts undisturbed;
  double step_ns = 0;  // undisturbed, best estimate
  double step_low_ns = 0;
  double step_high_ns = 0;
  bool distortion_known = false;
  std::vector<Doubt> doubts;

  double trust() const;  // product of the doubts' factors
  double share(double ns) const { return step_ns > 0 ? ns / step_ns : 0; }
  double idle_share_at(double step) const;  // idle share if the undisturbed step were `step` long
};

StepView make_step_view(const TraceStore& store, const AnalysisResults& results);

}  // namespace accel
