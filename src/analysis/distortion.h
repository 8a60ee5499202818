// Distortion: what the recording itself cost, and the step that the job would have without it: the step graph replayed
// without a cost per host record. The cost comes from this capture, not from another machine; docs/design/distortion.md
// says how and how well.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/step_graph/undisturbed.h"

namespace accel {

struct Distortion {
  std::string model;                     // how the cost was found, in words
  std::optional<double> record_cost_ns;  // per op and range; null: could not be estimated
  std::optional<double> call_cost_ns;    // per runtime and driver call, its share of the device's records included
  std::optional<double> frame_cost_ns;   // per Python frame
  double most_call_cost_ns = 0;          // a call's, if the process had not been recorded before
  std::optional<double> slowing;         // share of a short stretch of the host that the recording makes
  bool recorded_before = false;          // CUPTI had been switched on in this process long before the window
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

// Its costs for without_recording(); none where they are not known. The truth lies between the least and the most for
// nine of ten captures with a known truth.
RecordingCost recording_cost(const Distortion& distortion);
RecordingCost least_recording_cost(const Distortion& distortion);
RecordingCost most_recording_cost(const Distortion& distortion);

}  // namespace accel
