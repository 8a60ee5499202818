// Device timeline: for each device, the times in which it computed, communicated, copied or did anything, as unions
// over all of its streams. Every figure of device time comes from here. Constant after it is made.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/interval_set.h"
#include "trace/trace_store.h"

namespace accel {

struct DeviceTimeline {
  struct Device {
    std::int64_t device = 0;
    IntervalSet busy;                      // anything
    IntervalSet compute;                   // kernels other than communication
    IntervalSet communication_exposed;     // communication kernels less compute
    IntervalSet communication_overlapped;  // communication kernels during compute
    IntervalSet memory_exposed;            // copies and sets during which no kernel ran
    IntervalSet copy_exposed;              // copies alone, likewise
  };
  std::vector<Device> devices;  // in the order of TraceStore::device_ranges
  // Events whose recorded end is not believed, by ascending row: (row, end that is counted instead).
  std::vector<std::pair<std::uint32_t, std::int64_t>> corrected_ends;

  // End of a device event, the corrected one where there is one.
  std::int64_t end_ns(const TraceStore& store, std::uint32_t event) const;
};

}  // namespace accel
