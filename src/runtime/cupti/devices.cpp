#include "runtime/cupti/devices.h"

#include <dlfcn.h>

#include "format/native_layout.h"
#include "runtime/cupti/library.h"

namespace accel::runtime::cupti {
namespace {

// CUdevice_attribute of cuda.h.
enum Attribute : int {
  kWarpSize = 10,
  kProcessors = 16,
  kThreadsPerProcessor = 39,
  kCapabilityMajor = 75,
  kCapabilityMinor = 76,
  kSharedMemoryPerProcessor = 81,
  kRegistersPerProcessor = 82,
};

template <typename Function>
Function driver(const char* name) {
  void* handle = mapped_library("libcuda.so");
  return handle == nullptr ? nullptr : reinterpret_cast<Function>(::dlsym(handle, name));
}

}  // namespace

std::uint32_t device_count() {
  const auto count_of = driver<int (*)(int*)>("cuDeviceGetCount");
  int count = 0;
  return count_of != nullptr && count_of(&count) == 0 && count > 0 ? static_cast<std::uint32_t>(count) : 0;
}

bool device_facts(std::uint32_t index, DeviceFacts& facts) {
  const auto get = driver<int (*)(int*, int)>("cuDeviceGet");
  const auto name = driver<int (*)(char*, int, int)>("cuDeviceGetName");
  const auto memory = driver<int (*)(std::size_t*, int)>("cuDeviceTotalMem_v2");
  const auto attribute = driver<int (*)(int*, int, int)>("cuDeviceGetAttribute");
  const auto pci = driver<int (*)(char*, int, int)>("cuDeviceGetPCIBusId");
  int device = 0;
  if (get == nullptr || name == nullptr || memory == nullptr || attribute == nullptr ||
      get(&device, static_cast<int>(index)) != 0)
    return false;
  std::size_t bytes = 0;
  if (name(facts.name, sizeof facts.name, device) != 0 || memory(&bytes, device) != 0) return false;
  facts.memory = bytes;
  if (pci == nullptr || pci(facts.pci, sizeof facts.pci, device) != 0) facts.pci[0] = 0;
  const auto ask = [&](Attribute which) {
    int value = 0;
    return attribute(&value, which, device) == 0 ? std::int64_t{value} : format::kNoI64;
  };
  facts.processors = ask(kProcessors);
  facts.capability_major = ask(kCapabilityMajor);
  facts.capability_minor = ask(kCapabilityMinor);
  facts.threads_per_processor = ask(kThreadsPerProcessor);
  facts.registers_per_processor = ask(kRegistersPerProcessor);
  facts.shared_memory_per_processor = ask(kSharedMemoryPerProcessor);
  facts.warp_size = ask(kWarpSize);
  return true;
}

}  // namespace accel::runtime::cupti
