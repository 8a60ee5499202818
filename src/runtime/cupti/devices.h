// The devices of this process and their sizes, asked of the CUDA driver that the process has mapped. No context is made
// and no work is launched. Control thread.
#pragma once

#include <cstdint>

namespace accel::runtime::cupti {

struct DeviceFacts {
  char name[128] = {};
  char pci[32] = {};  // empty: not known
  std::uint64_t memory = 0;
  std::int64_t processors, capability_major, capability_minor, threads_per_processor, registers_per_processor,
      shared_memory_per_processor, warp_size;  // the smallest number where the driver does not say
};

// How many devices the process sees; 0 without a driver or before the process has initialised it.
std::uint32_t device_count();
bool device_facts(std::uint32_t index, DeviceFacts& facts);

}  // namespace accel::runtime::cupti
