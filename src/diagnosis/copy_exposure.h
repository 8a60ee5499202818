// Copies of one device by direction and by kind of host memory: how much of their time no kernel hides. The step view's
// windows; ns and bytes per step.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "diagnosis/step_view.h"
#include "trace/trace_store.h"

namespace accel {

struct CopyGroup {
  double exposed_ns = 0;  // union of the group's copies minus all kernels
  double busy_ns = 0;     // union of the group's copies
  double bytes = 0;
  double count = 0;
  DeviceEventId largest;  // the copy of most bytes
  std::int64_t largest_bytes = 0;
  std::int64_t largest_ns = 0;
  double host_blocked_ns = 0;  // host time inside the calls that made them

  double gigabytes_per_second() const { return busy_ns > 0 ? bytes / busy_ns : 0; }
};

struct CopyExposure {
  CopyGroup pageable_to_device;  // from pageable host memory: the call blocks the host
  CopyGroup pinned_to_device;    // from pinned, managed or unnamed host memory
  CopyGroup to_host;
  CopyGroup on_device;  // device to device, peer, and sets
  // Best rate that a pinned copy of at least 1 MB reached in this capture; 0 = none.
  double best_pinned_gigabytes_per_second = 0;
};

CopyExposure measure_copies(const TraceStore& store, const StepView& view);

// The rows of device_events of one device; empty when it ran nothing.
TraceStore::DeviceRange device_range_of(const TraceStore& store, std::int64_t device);

}  // namespace accel
