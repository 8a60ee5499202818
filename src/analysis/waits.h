// Waits: host calls that blocked on the device (synchronisations and copies with a pageable side), by the op, range or
// frame that made them, and how much device time each wasted. A wait while the device works costs nothing; its cost is
// the idle device time from the end of the awaited work until the device runs again that the wait explains.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace_store.h"

namespace accel {

struct WaitGroup {
  StringId call;         // cudaStreamSynchronize, cudaMemcpyAsync, ...
  StringId by;           // innermost op or range around it (aten::item, aten::nonzero ...); empty = none
  SliceId example;       // the costliest call
  bool is_copy = false;  // blocking copy rather than a synchronisation
  std::uint64_t count_in_steps = 0;
  std::int64_t host_ns = 0;         // time in the calls
  std::int64_t device_idle_ns = 0;  // idle device time that the waits explain (measured)
};

struct Waits {
  std::vector<WaitGroup> groups;  // largest device_idle_ns first
  std::uint64_t count_in_steps = 0;
  std::int64_t host_ns = 0;
  std::int64_t device_idle_ns = 0;
};

}  // namespace accel
