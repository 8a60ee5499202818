// Edges between streams that the times of one step hide and those of others show: the same program runs at every step,
// so an event that waited for another stream's in some steps has to in all; where something else was over later, the
// times alone do not tell. Internal to step_graph.
#pragma once

#include "analysis/device_timeline.h"
#include "analysis/step_graph/step_graph.h"
#include "trace/trace_store.h"

namespace accel {

// Fills graph.implied from the edges that are in the graph. Linear in the events but for sorting.
void add_implied_order(const TraceStore& store, const DeviceTimeline& timeline, StepGraph& graph);

}  // namespace accel
