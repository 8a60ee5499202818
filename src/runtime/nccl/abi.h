// The profiler interface of NCCL as we need it, versions 3 to 6, declared by ourselves: NCCL looks the tables up by
// name in the library that NCCL_PROFILER_PLUGIN names. Facts from NCCL's public headers (src/include/plugin); only what
// is read is declared, the offsets are asserted.
#pragma once

#include <cstddef>
#include <cstdint>

namespace accel::runtime::nccl {

constexpr int kSuccess = 0;  // ncclSuccess

// Bits of the activation mask and types of events.
constexpr std::uint64_t kCollective = 1U << 1U;
constexpr std::uint64_t kPointToPoint = 1U << 2U;
constexpr std::uint64_t kKernelChannel = 1U << 6U;
constexpr std::uint64_t kCopyEngineCollective = 1U << 12U;  // version 6
constexpr int kKernelChannelStop = 22;                      // state, from version 4 on

struct CollectiveV3 {
  const char* name;
  std::uint64_t communicator;
  std::uint64_t sequence;
  const char* function;
  const void* from;
  void* to;
  std::size_t count;
  int root;
  const char* type;
  std::uint8_t channels;
  std::uint8_t warps;
  const char* algorithm;
  const char* protocol;
};
struct PointToPointV3 {
  const char* name;
  std::uint64_t communicator;
  const char* function;
  void* buffer;
  const char* type;
  std::size_t count;
  int peer;
};
// From version 4 on the communicator is told at init.
struct CollectiveV4 {
  std::uint64_t sequence;
  const char* function;
  const void* from;
  void* to;
  std::size_t count;
  int root;
  const char* type;
  std::uint8_t channels;
  std::uint8_t warps;
  const char* algorithm;
  const char* protocol;
};
struct PointToPointV4 {
  const char* function;
  void* buffer;
  const char* type;
  std::size_t count;
  int peer;
  std::uint8_t channels;
};
struct KernelChannelV4 {
  std::uint8_t channel;
  std::uint64_t timer;  // of the device, ns
};
static_assert(offsetof(CollectiveV3, algorithm) == 80 && offsetof(CollectiveV4, algorithm) == 64);
static_assert(offsetof(PointToPointV3, peer) == 48 && offsetof(PointToPointV4, channels) == 36);
static_assert(offsetof(KernelChannelV4, timer) == 8);

template <typename Type, typename Collective, typename PointToPoint>
struct Descriptor {
  Type type;
  void* parent;
  int rank;
  union {
    Collective collective;
    PointToPoint point_to_point;
    KernelChannelV4 kernel;
  };
};
using DescriptorV3 = Descriptor<std::uint8_t, CollectiveV3, PointToPointV3>;
using DescriptorV4 = Descriptor<std::uint8_t, CollectiveV4, PointToPointV4>;
// Of version 6 too: what it adds comes behind. Its collectives by copy engines begin as others do, up to the type.
using DescriptorV5 = Descriptor<std::uint64_t, CollectiveV4, PointToPointV4>;
static_assert(offsetof(DescriptorV3, collective) == 24 && offsetof(DescriptorV4, collective) == 24);
static_assert(offsetof(DescriptorV5, parent) == 8 && offsetof(DescriptorV5, collective) == 24);

union StateArguments {
  struct {
    std::uint64_t timer;
  } kernel;
};

using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);

struct ProfilerV3 {
  const char* name;
  int (*init)(void** context, int* mask);
  int (*start)(void* context, void** handle, DescriptorV3* descriptor);
  int (*stop)(void* handle);
  int (*state)(void* handle, int state, StateArguments* arguments);
  int (*finalize)(void* context);
};
struct ProfilerV4 {
  const char* name;
  int (*init)(void** context, int* mask, const char* communicator_name, std::uint64_t communicator, int nodes,
              int ranks, int rank, Logger log);
  int (*start)(void* context, void** handle, DescriptorV4* descriptor);
  int (*stop)(void* handle);
  int (*state)(void* handle, int state, StateArguments* arguments);
  int (*finalize)(void* context);
};
struct ProfilerV5 {  // and 6
  const char* name;
  int (*init)(void** context, std::uint64_t communicator, int* mask, const char* communicator_name, int nodes,
              int ranks, int rank, Logger log);
  int (*start)(void* context, void** handle, DescriptorV5* descriptor);
  int (*stop)(void* handle);
  int (*state)(void* handle, int state, StateArguments* arguments);
  int (*finalize)(void* context);
};
static_assert(sizeof(ProfilerV3) == 48 && sizeof(ProfilerV5) == 48);

}  // namespace accel::runtime::nccl
