// How a launch fills a device: waves of blocks, the share of multiprocessors that have work, and how many warps they
// can hold, with what limits that. From the launch configuration and the device's limits alone: an upper bound of what
// hardware counters show. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/trace_store.h"

namespace accel {

enum class OccupancyLimit : std::uint8_t { none, registers, shared_memory, blocks, grid };
std::string_view to_string(OccupancyLimit limit);

struct LaunchFill {
  std::int64_t blocks = 0;          // of the grid
  double waves = 0;                 // grid over what the device holds at once
  double multiprocessor_share = 0;  // mean share of multiprocessors with a block, over the waves
  double tail_efficiency = 0;       // waves over whole waves: what wave quantisation leaves
  double occupancy = 0;             // warps held over warps possible, while blocks last
  OccupancyLimit limit = OccupancyLimit::none;
};

// Null when the launch or the device's limits were not recorded, or the device is not one whose rules are known.
std::optional<LaunchFill> fill_of(const DeviceProperties& device, const LaunchConfigRow& launch);

// Share of multiprocessors that the grid reaches, which needs no more than their number. Null when not recorded.
std::optional<double> reached_share(const DeviceProperties& device, const LaunchConfigRow& launch);

}  // namespace accel
