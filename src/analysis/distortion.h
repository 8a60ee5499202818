// Distortion: what the recording itself cost, and the step that the job would have without it. First model: host time
// of the step less a cost per host record, never below the device's busy time. The cost per record comes from this
// capture (how long the densest tiny ops take here), not from another machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace accel {

struct Distortion {
  std::string model;                     // how the cost was found, in words
  std::optional<double> record_cost_ns;  // per op and range; null: could not be estimated
  std::optional<double> call_cost_ns;    // per runtime and driver call, its share of the device's records included
  std::optional<double> frame_cost_ns;   // per Python frame
  double records_per_step = 0;           // ops and ranges
  double calls_per_step = 0;
  double frames_per_step = 0;
  double cost_ns_per_step = 0;  // host time that the recording took in a step
  double measured_step_ns = 0;
  double undisturbed_step_ns = 0;  // best estimate
  double undisturbed_low_ns = 0;   // band
  double undisturbed_high_ns = 0;
  double overhead_rows_ns_per_step =
      0;  // the recorder's own rows (Activity Buffer Request, ...), not Command Buffer Full
};

}  // namespace accel
