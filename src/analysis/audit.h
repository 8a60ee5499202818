// Audit: what in the recording cannot be trusted. Runs before every conclusion; each check becomes a note, and the
// figures that rules use to lower their confidence stand here.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trace/trace_store.h"

namespace accel {

struct Audit {
  std::uint64_t device_events = 0;
  std::uint64_t device_without_launch = 0;
  std::uint64_t kernel_launches = 0;
  std::uint64_t kernel_launches_without_device = 0;  // lost data
  std::uint64_t launches_without_device = 0;         // launch, copy, set and graph calls
  std::uint64_t same_stream_overlaps = 0;
  std::uint64_t starts_before_launch = 0;
  std::int64_t largest_start_before_launch_ns = 0;
  std::uint64_t crossing_ranges = 0;
  std::uint64_t zero_duration_device = 0;
  std::int64_t graph_kernels = 0;
  std::optional<std::int64_t> blind_head_ns;  // head of the first step that may hide a running kernel
  bool coarse_clock = false;                  // whole microseconds
  bool has_device_activity = false;
  bool has_host_activity = false;
};

}  // namespace accel
