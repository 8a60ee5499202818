// The name of the device of a job that runs on its processor: ops are its work (TraceBuilder::add_host_device).
#pragma once

#include <string_view>

#include "trace/trace_store.h"

namespace accel {

inline constexpr std::string_view kProcessorName = "CPU";

inline bool runs_on_processor(const TraceStore& store) {
  return store.process.devices.size() == 1 && store.process.devices.front().name == kProcessorName;
}

}  // namespace accel
