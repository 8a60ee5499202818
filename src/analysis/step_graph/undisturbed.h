// The step graph without what the recording cost: the host is quicker by a share of its short stretches, and each
// record's own cost is taken off the host time at and after it, on its own thread; what is waited for then shows in the
// replay. Pure.
#pragma once

#include "analysis/step_graph/step_graph.h"

namespace accel {

struct RecordingCost {
  double record_ns = 0;  // per op and range
  double call_ns = 0;    // per runtime and driver call
  double frame_ns = 0;   // per Python frame
  double slowing = 0;    // share of a short stretch of the host; of a longer one, of its beginning
};

// What the host does at a stretch for longer is its own work (sleeping, decoding, an op on the CPU), which goes at its
// own pace; between two records of a job that gives a device work it does less.
inline constexpr std::int64_t kShortStretchNs = 100'000;

StepGraph without_recording(const StepGraph& graph, const RecordingCost& cost);

}  // namespace accel
