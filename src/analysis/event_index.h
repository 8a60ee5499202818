// Event index: what every later analysis asks of single events, looked up once: the class of a name, what a call has to
// do with the device, which threads launch. Constant after it is made.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/trace_store.h"

namespace accel {

// What a name says about the slice that bears it. Calls are told apart by what they do, never by a closed list: links
// to the device come from correlations; the class decides only what kind of call a slice is.
enum class NameClass : std::uint8_t {
  plain,
  kernel_launch,  // cudaLaunchKernel, cuLaunchKernelEx, hipModuleLaunchKernel, ...
  graph_launch,
  copy_call,
  set_call,
  synchronize,    // stream, device, event, context
  device_memory,  // cudaMalloc, cudaFree and kin
  host_memory,    // cudaHostAlloc and kin
  begin_capture,
  end_capture,
  profiler_step,    // ProfilerStep#N
  optimizer_step,   // Optimizer.step#...
  dataloader_next,  // enumerate(DataLoader)#...__next__
  data_range,       // a user's range or another loader's frame whose name says that it fetches data
  garbage_collection,
  recorder_overhead,    // Activity Buffer Request and kin
  command_buffer_full,  // the launch queue is full: a sign of a device-bound job, no cost of the recorder
  host_communication,   // communication that the host itself carries out or waits for: gloo, mpi, barriers
  backward,             // sign of training
  compilation,          // a model or kernel is compiled: dynamo, inductor, triton, numba
  module_load,          // device code is loaded: once per function and process
  checkpoint,           // state is saved: torch.save and kin
};

NameClass classify_name(std::string_view name, SliceKind kind);

inline constexpr std::uint8_t kCallHasDevice = 1;    // a device record carries the call's correlation
inline constexpr std::uint8_t kCallPageable = 2;     // one of them is a copy with a pageable side: the call blocks
inline constexpr std::uint8_t kCallToDevice = 4;     // one of them is a copy from host to device
inline constexpr std::uint8_t kCallFromDevice = 8;   // one of them is a copy from device to host
inline constexpr std::uint8_t kLaunchesInside = 16;  // the slice is a launching call or encloses one
inline constexpr std::uint8_t kCallCaptured = 32;    // made while its thread captured a graph: nothing runs

struct EventIndex {
  std::vector<NameClass> name_class;             // by StringId; only names of slices are classified
  std::vector<std::uint8_t> slice_flags;         // by slice: kCall..., kLaunchesInside
  std::vector<std::uint8_t> communication_name;  // by StringId: 1 = name of a communication kernel
  ThreadIndex main_thread;  // runs the steps, else most ops, else most slices; invalid without slices
  std::vector<ThreadIndex> launching_threads;      // main thread first, then ascending
  std::vector<ThreadIndex> communicating_threads;  // other threads with host communication (gloo)
  std::vector<ThreadIndex> overhead_threads;       // hold the recorder's own rows
  std::uint64_t kernel_launch_calls = 0;           // captured ones left out
  bool has_ops = false;

  NameClass class_of(const TraceStore& store, std::uint32_t slice) const {
    return name_class[store.slices.name[slice].value];
  }
  // A call that makes the host wait for the device: a synchronisation, or a copy with a pageable side.
  bool blocks(const TraceStore& store, std::uint32_t slice) const {
    if (!store.is_call(SliceId(slice))) return false;
    return (slice_flags[slice] & kCallPageable) != 0 || class_of(store, slice) == NameClass::synchronize;
  }
  // A call that makes the device work, or would have.
  bool launches(const TraceStore& store, std::uint32_t slice) const {
    const NameClass c = class_of(store, slice);
    return (slice_flags[slice] & kCallHasDevice) != 0 || c == NameClass::kernel_launch || c == NameClass::graph_launch;
  }
};

}  // namespace accel
