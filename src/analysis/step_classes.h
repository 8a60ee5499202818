// Step classes: what a step did beside training: it warmed up, evaluated, saved a checkpoint or only accumulated
// gradients. Part of step_segmentation; averages and comparisons rest on it. Pure.
#pragma once

#include "analysis/event_index.h"
#include "analysis/step_segmentation.h"

namespace accel {

// Sets step_class of every step. Nothing is said of a step that the records do not show.
void classify_steps(const TraceStore& store, const EventIndex& index, StepSegmentation& segmentation);

}  // namespace accel
