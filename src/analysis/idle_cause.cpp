#include "analysis/idle_cause.h"

namespace accel {

std::string_view to_string(IdleCause cause) {
  switch (cause) {
    case IdleCause::data_loading:
      return "data_loading";
    case IdleCause::synchronization:
      return "synchronization";
    case IdleCause::host_compute:
      return "host_compute";
    case IdleCause::launch_latency:
      return "launch_latency";
    case IdleCause::memory_allocation:
      return "memory_allocation";
    case IdleCause::host_to_device_copy:
      return "host_to_device_copy";
    case IdleCause::communication:
      return "communication";
    case IdleCause::stream_dependency:
      return "stream_dependency";
    case IdleCause::garbage_collection:
      return "garbage_collection";
    case IdleCause::profiler_overhead:
      return "profiler_overhead";
    case IdleCause::unknown:
      return "unknown";
  }
  return "unknown";
}

}  // namespace accel
