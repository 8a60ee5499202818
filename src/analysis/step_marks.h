// Step marks: finds what in a trace marks its steps, by the first fallback that applies. Pure; part of
// step_segmentation.
#pragma once

#include <string_view>
#include <vector>

#include "analysis/event_index.h"
#include "analysis/step_segmentation.h"

namespace accel {

struct StepMarks {
  StepSource source = StepSource::whole_window;
  std::vector<Step> steps;       // by start, disjoint; cut ones are already marked incomplete
  bool by_device_start = false;  // device events without a launch belong to the step that they start in
};

StepMarks find_step_marks(const TraceStore& store, const EventIndex& index, std::string_view step_annotation);

// True when something in the trace is only done to train: a backward pass, an optimizer.
bool shows_training(const TraceStore& store, const EventIndex& index);

}  // namespace accel
