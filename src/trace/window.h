// Cutting a finished store down to a window of time.
#pragma once

#include <cstdint>

#include "base/interval_set.h"
#include "trace/trace_store.h"

namespace accel {

// Leaves what lies in or reaches into `window`: slices by their own time, device events by the time of their launch
// where that is known. Parents, depths, launches and ranges are kept true. Returns how many rows were left out.
std::uint64_t keep_window(TraceStore& store, Interval window);

// From the start of the first step mark (ProfilerStep#N, accel::step#N) numbered first..last to the end of the last;
// empty if there is none.
Interval window_of_steps(const TraceStore& store, std::int64_t first, std::int64_t last);

}  // namespace accel
