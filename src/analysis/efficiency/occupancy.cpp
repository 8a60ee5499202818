#include "analysis/efficiency/occupancy.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace accel {
namespace {

constexpr int kWarp = 32;
constexpr std::int64_t kRegisterUnit = 256;       // registers are given to warps in units of this many
constexpr std::int64_t kReservedPerBlock = 1024;  // of shared memory, from compute capability 8.0
constexpr std::int64_t kSharedUnit = 128;

// Blocks that a multiprocessor holds at most, by compute capability (CUDA programming guide, technical specifications).
std::int64_t most_blocks(int major, int minor) {
  if (major == 7) return minor == 5 ? 16 : 32;
  if (major == 8) return minor == 0 ? 32 : minor == 9 ? 24 : 16;
  if (major == 9 || major == 10) return 32;
  if (major == 12) return 24;
  return 16;
}

std::int64_t product(std::int32_t x, std::int32_t y, std::int32_t z) {
  if (x <= 0 || y <= 0 || z <= 0) return 0;
  // A grid's dimensions are below 2^31, 2^16 and 2^16.
  const double exact = static_cast<double>(x) * y * z;
  return exact > 9e15 ? 0 : static_cast<std::int64_t>(exact);
}

std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

std::string_view to_string(OccupancyLimit limit) {
  constexpr std::array<std::string_view, 5> kNames = {"none", "registers", "shared_memory", "blocks", "grid"};
  return kNames[static_cast<std::size_t>(limit)];
}

std::optional<double> reached_share(const DeviceProperties& device, const LaunchConfigRow& launch) {
  const std::int64_t blocks = product(launch.grid_x, launch.grid_y, launch.grid_z);
  if (device.sms <= 0 || blocks <= 0) return std::nullopt;
  return std::min(1.0, static_cast<double>(blocks) / device.sms);
}

std::optional<LaunchFill> fill_of(const DeviceProperties& device, const LaunchConfigRow& launch) {
  LaunchFill fill;
  fill.blocks = product(launch.grid_x, launch.grid_y, launch.grid_z);
  const std::int64_t threads = product(launch.block_x, launch.block_y, launch.block_z);
  if (fill.blocks <= 0 || threads <= 0 || threads > 1024) return std::nullopt;
  // Devices of other makers write the same keys with other meanings.
  if (device.warp_size != kWarp || device.sms <= 0 || device.max_threads_per_sm < kWarp) return std::nullopt;
  if (device.registers_per_sm <= 0 || device.shared_memory_per_sm <= 0 || device.compute_major < 7) return std::nullopt;

  const std::int64_t warps = round_up(threads, kWarp) / kWarp;
  const std::int64_t most_warps = device.max_threads_per_sm / kWarp;
  std::int64_t held = std::max<std::int64_t>(1, most_warps / warps);
  const auto lower = [&](std::int64_t blocks, OccupancyLimit limit) {
    if (blocks >= held) return;
    held = std::max<std::int64_t>(1, blocks);
    fill.limit = limit;
  };
  lower(most_blocks(device.compute_major, device.compute_minor), OccupancyLimit::blocks);
  if (launch.registers > 0) {
    const std::int64_t per_warp = round_up(std::int64_t{launch.registers} * kWarp, kRegisterUnit);
    // Each of four schedulers has a quarter of the registers.
    const std::int64_t held_warps = device.registers_per_sm / 4 / per_warp * 4;
    lower(held_warps / warps, OccupancyLimit::registers);
  }
  if (launch.shared_memory >= 0) {
    const std::int64_t reserved = device.compute_major >= 8 ? kReservedPerBlock : 0;
    const std::int64_t per_block = round_up(std::int64_t{launch.shared_memory} + reserved, kSharedUnit);
    if (per_block > 0) lower(device.shared_memory_per_sm / per_block, OccupancyLimit::shared_memory);
  }

  const double at_once = static_cast<double>(held) * device.sms;
  const double blocks = static_cast<double>(fill.blocks);
  fill.waves = blocks / at_once;
  const double whole = std::floor(fill.waves);
  const double rest = blocks - whole * at_once;
  fill.tail_efficiency = fill.waves / std::ceil(fill.waves);
  fill.multiprocessor_share = (whole + std::min(1.0, rest / device.sms)) / std::ceil(fill.waves);
  double resident = static_cast<double>(held);
  if (blocks < at_once) {
    resident = std::max(1.0, blocks / device.sms);
    if (resident < static_cast<double>(held)) fill.limit = OccupancyLimit::grid;
  }
  fill.occupancy = std::min(1.0, resident * static_cast<double>(warps) / static_cast<double>(most_warps)) *
                   std::min(1.0, blocks / device.sms);
  return fill;
}

}  // namespace accel
