// The step graph without what the recording cost: each record's cost is taken off the host time at and after it, on its
// own thread; what is waited for then shows in the replay. Pure.
#pragma once

#include "analysis/step_graph/step_graph.h"

namespace accel {

struct RecordingCost {
  double record_ns = 0;  // per op and range
  double call_ns = 0;    // per runtime and driver call
  double frame_ns = 0;   // per Python frame
};

StepGraph without_recording(const StepGraph& graph, const RecordingCost& cost);

}  // namespace accel
