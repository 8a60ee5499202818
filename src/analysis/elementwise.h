// Kernels that work on every element by itself, and what belongs to a formula written op by op. Looks at names and
// links alone; any thread may call it.
#pragma once

#include <cstdint>
#include <string_view>

#include "analysis/event_index.h"
#include "trace/trace_store.h"

namespace accel {

bool is_elementwise_kernel(std::string_view name);
// Element-wise and not a fill or a copy. Those move values: alone they are the gradients of views and slices, which no
// formula holds together.
bool is_elementwise_computation(std::string_view name);

// Whether this device event (row of device_events) can be one kernel of a formula: element-wise or a reduction,
// launched by itself, and no sum of a gradient, which belongs to one tensor.
bool fits_into_formula(const TraceStore& store, const EventIndex& index, std::uint32_t row);

}  // namespace accel
