// Stalls of the main thread, part of host_activity: gaps between records that elsewhere follow each other at once.
#pragma once

#include <string_view>

#include "analysis/event_index.h"
#include "analysis/host_activity.h"
#include "analysis/step_segmentation.h"

namespace accel {

// Ops that only describe a tensor anew and take microseconds wherever the tensor lives.
bool is_metadata_op(std::string_view name);

HostStalls find_stalls(const TraceStore& store, const EventIndex& index, const StepSegmentation& segmentation);

}  // namespace accel
