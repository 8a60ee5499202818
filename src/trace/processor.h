// The name of the device of a job that runs on its processor: ops are its work (TraceBuilder::add_host_device).
#pragma once

#include <string_view>

namespace accel {

inline constexpr std::string_view kProcessorName = "CPU";

}  // namespace accel
