// Allocations and frees of the driver (not of the framework's caching allocator) within the steps: how many, how long,
// where from. A framework that has warmed up makes none.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "diagnosis/step_view.h"
#include "trace/trace_store.h"

namespace accel {

struct AllocatorCallGroup {
  StringId call;       // cudaMalloc, cudaFree, ...
  double count = 0;    // per step
  double host_ns = 0;  // per step, time in the calls
  SliceId example;     // the longest
};

struct AllocatorCalls {
  std::vector<AllocatorCallGroup> groups;  // longest total first
  double allocations = 0;                  // per step, device memory
  double frees = 0;                        // per step, device memory
  double frees_outside_ops = 0;            // per step: the program asked for them (empty_cache), no op needed memory
  double host_allocations = 0;             // per step, pinned host memory
  double host_ns = 0;                      // per step, all calls
  std::uint64_t steps_with_calls = 0;
  SliceId largest;  // the longest call
};

enum class AllocatorCallKind : std::uint8_t { none, device_allocation, device_free, host_allocation, host_free };
AllocatorCallKind allocator_call_kind(std::string_view call);

AllocatorCalls find_allocator_calls(const TraceStore& store, const StepView& view);

}  // namespace accel
