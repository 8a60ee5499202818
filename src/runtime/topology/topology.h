// The topology of this host as NVML and sysfs state it, once per process: NVLinks with state, version and speed, what
// PCIe runs at and could run at, the path between each two devices, processors and network cards near them. Kept as the
// text that nvidia-smi prints for it (topo -m, nvlink -s, --query-gpu), because that is what the engine reads and a
// person knows. Taken by the sampler's thread, which alone talks to NVML; read by the control thread once it is there.
// What a call does not answer is left out or "[N/A]", never 0. C library only, bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace accel::runtime {

// What stands beside the text in a capture: the device of this process. -1 = not known.
struct DeviceLink {
  std::int64_t index = -1;                      // as the driver numbers it
  std::int64_t pcie_generation = -1;            // when it was taken; an idle device lowers it
  std::int64_t pcie_generation_max = -1;        // of device and slot together
  std::int64_t pcie_generation_of_device = -1;  // what the device alone could do
  std::int64_t pcie_width = -1;
  std::int64_t pcie_width_max = -1;
  std::int64_t nvlinks = -1;  // active
  std::int64_t nvlink_version = -1;
  std::int64_t numa_node = -1;
};

// After NVML was opened. The second call and later ones do nothing. Sampler thread.
void take_topology();
// Empty until it was taken, then constant. Any thread.
std::string_view topology_text();
const DeviceLink& device_link();

// For tests: as take_topology(), into memory of their own.
std::size_t write_topology(char* out, std::size_t size, DeviceLink& own);

}  // namespace accel::runtime
