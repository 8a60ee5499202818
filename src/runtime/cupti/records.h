// One buffer of CUPTI records into plain records of the recorder, in the order of the buffer. Knows no files and no
// locks: the tests feed it buffers that they made. One thread at a time.
#pragma once

#include "runtime/cupti/abi.h"

namespace accel::runtime::cupti {

enum class DeviceWork : std::uint8_t { kernel = 0, copy = 1, set = 2 };

struct DeviceRecord {
  DeviceWork kind = DeviceWork::kernel;
  std::uint8_t direction = 0;
  std::uint8_t source = 0;
  std::uint8_t destination = 0;
  std::uint64_t begin = 0;  // ticks; begin and end 0: no time
  std::uint64_t end = 0;
  std::uint64_t bytes = ~std::uint64_t{0};
  std::uint64_t graph_node = 0;  // 0: none
  std::uint32_t correlation = 0;
  std::uint32_t device = 0;
  std::uint32_t context = 0;
  std::uint32_t stream = 0;
  std::uint32_t graph = 0;
  const char* name = nullptr;         // of a kernel, mangled; valid during the call
  const KernelRecord* raw = nullptr;  // of a kernel: its launch configuration
};

struct Sink {
  void* context;
  void (*device)(void* context, const DeviceRecord& record);
  void (*call)(void* context, const CallRecord& record, bool driver);
};

struct Decoded {
  std::uint64_t records = 0;
  std::uint64_t unknown = 0;  // of kinds that were not asked for
  bool damaged = false;       // the walk through the buffer did not end where it should
};

Decoded decode(const Functions& functions, std::uint8_t* buffer, std::size_t valid_bytes, const Sink& sink);

}  // namespace accel::runtime::cupti
