// The tables under the names that NCCL looks for. With NCCL_PROFILER_PLUGIN naming this library NCCL calls the newest
// that it knows. Every call succeeds: a profiler must not end a job.
#include <cstdio>
#include <cstring>

#include "runtime/nccl/abi.h"
#include "runtime/nccl/events.h"

namespace accel::runtime::nccl {
namespace {

template <std::size_t N>
void copy(char (&to)[N], const char* from) {
  std::snprintf(to, N, "%s", from == nullptr ? "" : from);
}

template <typename Collective>
void describe_collective(Operation& operation, const Collective& collective, bool by_copy_engine) {
  operation.sequence = collective.sequence;
  operation.bytes = collective.count * type_bytes(collective.type);
  operation.peer = collective.root;
  copy(operation.function, collective.function);
  copy(operation.type, collective.type);
  if (by_copy_engine) {
    copy(operation.algorithm, "copy engine");
    return;
  }
  operation.channels = collective.channels;
  copy(operation.algorithm, collective.algorithm);
  copy(operation.protocol, collective.protocol);
}

template <typename PointToPoint>
void describe_point_to_point(Operation& operation, const PointToPoint& p2p) {
  operation.bytes = p2p.count * type_bytes(p2p.type);
  operation.peer = p2p.peer;
  copy(operation.function, p2p.function);
  copy(operation.type, p2p.type);
}

Communicator made(const char* name, std::uint64_t id, int nodes, int ranks, int rank) {
  Communicator communicator;
  communicator.id = id;
  communicator.nodes = nodes;
  communicator.ranks = ranks;
  communicator.rank = rank;
  copy(communicator.name, name);
  return communicator;
}

int init_v3(void** context, int* mask) {
  if (context != nullptr && mask != nullptr) communicator_begins(Communicator(), context, mask);
  return kSuccess;
}
int init_v4(void** context, int* mask, const char* name, std::uint64_t id, int nodes, int ranks, int rank, Logger) {
  if (context != nullptr && mask != nullptr) communicator_begins(made(name, id, nodes, ranks, rank), context, mask);
  return kSuccess;
}
int init_v5(void** context, std::uint64_t id, int* mask, const char* name, int nodes, int ranks, int rank, Logger) {
  if (context != nullptr && mask != nullptr) communicator_begins(made(name, id, nodes, ranks, rank), context, mask);
  return kSuccess;
}

// Version 3 tells the communicator with every event.
int start_v3(void* context, void** handle, DescriptorV3* descriptor) {
  if (handle == nullptr) return kSuccess;
  *handle = nullptr;
  if (descriptor == nullptr) return kSuccess;
  Operation operation;
  operation.communicator = communicator_of(context);
  operation.communicator.rank = descriptor->rank;
  if (descriptor->type == kCollective) {
    operation.communicator.id = descriptor->collective.communicator;
    copy(operation.communicator.name, descriptor->collective.name);
    describe_collective(operation, descriptor->collective, false);
    *handle = operation_begins(operation);
  } else if (descriptor->type == kPointToPoint) {
    operation.communicator.id = descriptor->point_to_point.communicator;
    copy(operation.communicator.name, descriptor->point_to_point.name);
    describe_point_to_point(operation, descriptor->point_to_point);
    *handle = operation_begins(operation);
  } else if (descriptor->type == kKernelChannel) {
    *handle = channel_begins(descriptor->parent, 0);  // without the device's clock
  }
  return kSuccess;
}

template <typename DescriptorOf>
int start(void* context, void** handle, DescriptorOf* descriptor) {
  if (handle == nullptr) return kSuccess;
  *handle = nullptr;
  if (descriptor == nullptr) return kSuccess;
  const std::uint64_t type = descriptor->type;
  if (type == kKernelChannel) {
    *handle = channel_begins(descriptor->parent, descriptor->kernel.timer);
    return kSuccess;
  }
  if (type != kCollective && type != kPointToPoint && type != kCopyEngineCollective) return kSuccess;
  Operation operation;
  operation.communicator = communicator_of(context);
  if (type == kPointToPoint) {
    operation.channels = descriptor->point_to_point.channels;
    describe_point_to_point(operation, descriptor->point_to_point);
  } else {
    describe_collective(operation, descriptor->collective, type == kCopyEngineCollective);
  }
  *handle = operation_begins(operation);
  return kSuccess;
}
int start_v4(void* context, void** handle, DescriptorV4* descriptor) { return start(context, handle, descriptor); }
int start_v5(void* context, void** handle, DescriptorV5* descriptor) { return start(context, handle, descriptor); }

int stop(void* handle) {
  if (handle == nullptr) return kSuccess;
  operation_ends(handle);
  channel_ends(handle);
  return kSuccess;
}

int state_v3(void* /*handle*/, int /*state*/, StateArguments* /*arguments*/) { return kSuccess; }
int state_v4(void* handle, int state, StateArguments* arguments) {
  if (handle != nullptr && state == kKernelChannelStop && arguments != nullptr)
    channel_timer(handle, arguments->kernel.timer);
  return kSuccess;
}

int finalize(void* context) {
  communicator_ends(context);
  return kSuccess;
}

}  // namespace
}  // namespace accel::runtime::nccl

extern "C" {
// NOLINTBEGIN(readability-identifier-naming): the names are NCCL's
using accel::runtime::nccl::ProfilerV3;
using accel::runtime::nccl::ProfilerV4;
using accel::runtime::nccl::ProfilerV5;
namespace nccl = accel::runtime::nccl;

extern __attribute__((visibility("default"))) const ProfilerV3 ncclProfiler_v3;
extern __attribute__((visibility("default"))) const ProfilerV4 ncclProfiler_v4;
extern __attribute__((visibility("default"))) const ProfilerV5 ncclProfiler_v5;
extern __attribute__((visibility("default"))) const ProfilerV5 ncclProfiler_v6;

const ProfilerV3 ncclProfiler_v3 = {"accel-profiler", nccl::init_v3,  nccl::start_v3,
                                    nccl::stop,       nccl::state_v3, nccl::finalize};
const ProfilerV4 ncclProfiler_v4 = {"accel-profiler", nccl::init_v4,  nccl::start_v4,
                                    nccl::stop,       nccl::state_v4, nccl::finalize};
const ProfilerV5 ncclProfiler_v5 = {"accel-profiler", nccl::init_v5,  nccl::start_v5,
                                    nccl::stop,       nccl::state_v4, nccl::finalize};
const ProfilerV5 ncclProfiler_v6 = {"accel-profiler", nccl::init_v5,  nccl::start_v5,
                                    nccl::stop,       nccl::state_v4, nccl::finalize};
// NOLINTEND(readability-identifier-naming)
}
