// What one record costs on the host that made this capture, measured on the capture itself;
// docs/design/distortion.md says how the constants were found.
#pragma once

#include <optional>

#include "analysis/step_graph/undisturbed.h"
#include "trace/trace_store.h"

namespace accel {

struct EventIndex;
struct StepSegmentation;

// Nothing when the capture holds too few small ops to measure it.
std::optional<RecordingCost> measure_recording_cost(const TraceStore& store, const EventIndex& index);

// Whether the process had been recorded before this recording and its warm-up: CUPTI, once on, stays in the path of
// every CUDA call and numbers it.
bool recorded_before(const TraceStore& store, const StepSegmentation& segmentation);

}  // namespace accel
