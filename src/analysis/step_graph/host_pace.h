// Host pace: how quick the host was in each step. Steps that do the same in the same order tell it: a step whose short
// stretches all take longer than in the others ran on a host that was slow just then (other processes, the recorder's
// own threads, a lower clock). What a step does more than others is elsewhere: at places that the others do not have,
// or in long stretches.
#pragma once

#include "analysis/step_graph/step_graph.h"
#include "trace/trace_store.h"

namespace accel {

// Fills `pace` of all steps.
void measure_host_pace(const TraceStore& store, StepGraph& graph);

}  // namespace accel
