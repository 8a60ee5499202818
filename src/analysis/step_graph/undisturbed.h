// The step graph without what the recording cost: the host keeps its usual pace and is quicker by a share of its short
// stretches, and each record's own cost is taken off the host time at and after it, on its own thread; what is waited
// for then shows in the replay. Pure.
#pragma once

#include <cstdint>
#include <utility>

#include "analysis/step_graph/step_graph.h"
#include "base/interval_set.h"
#include "trace/trace_store.h"

namespace accel {

struct RecordingCost {
  double record_ns = 0;  // per op and range
  double call_ns = 0;    // per runtime and driver call
  double frame_ns = 0;   // per Python frame
  double slowing = 0;    // share of a short stretch of the host; of a longer one, of its beginning
  double unrest = 0;     // share of what short stretches of slow steps take longer than at the usual pace
};

StepGraph without_recording(const StepGraph& graph, const RecordingCost& cost);

// What a stretch of a thread's time in which it waits for nothing takes without the recording. `pace` is that of its
// step; `rows` those of the thread.
double without_recording(const TraceStore& store, std::pair<std::uint32_t, std::uint32_t> rows, Interval stretch,
                         const RecordingCost& cost, double pace);

}  // namespace accel
