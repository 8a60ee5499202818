// The causes of idle device time, in the words of the report.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace accel {

enum class IdleCause : std::uint8_t {
  data_loading,
  synchronization,
  host_compute,
  launch_latency,
  memory_allocation,
  host_to_device_copy,
  communication,
  stream_dependency,
  garbage_collection,
  profiler_overhead,
  unknown,
};
inline constexpr std::size_t kIdleCauseCount = 11;
using IdleByCause = std::array<std::int64_t, kIdleCauseCount>;  // ns, by IdleCause

std::string_view to_string(IdleCause cause);

}  // namespace accel
