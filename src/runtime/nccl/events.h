// What NCCL told of its operations while a window was open: a fixed pool of events that the threads of the program fill
// and the control thread takes. A full pool drops the new event and counts it. Nothing here allocates, waits long, or
// keeps a pointer of NCCL beyond the call. Calls of NCCL: any thread; the rest: control thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace accel::runtime::nccl {

struct Communicator {
  std::uint64_t id = 0;
  std::int32_t nodes = -1;
  std::int32_t ranks = -1;
  std::int32_t rank = -1;
  char name[32] = {};
};

struct Operation {
  std::uint64_t begin = 0;  // ticks, on the host: from the call to the launch
  std::uint64_t end = 0;
  std::uint64_t device_begin = ~std::uint64_t{0};  // ns of the device's own clock, the first channel; ~0 = not told
  std::uint64_t device_end = ~std::uint64_t{0};    // the last channel
  std::uint64_t sequence = ~std::uint64_t{0};      // per communicator and function; ~0 = not told
  std::uint64_t bytes = 0;
  Communicator communicator;
  std::int64_t peer = -1;  // of point to point; the root of a collective
  std::uint32_t tid = 0;
  std::uint32_t channels = 0;  // 0 = not told
  char function[20] = {};
  char type[20] = {};
  char algorithm[20] = {};
  char protocol[12] = {};
};

// -- NCCL's calls. A handle is null where nothing is recorded.
void communicator_begins(const Communicator& communicator, void** context, int* mask);
void communicator_ends(void* context);
// What a context stands for; of an unknown one only the id is unknown.
Communicator communicator_of(void* context);
void* operation_begins(const Operation& operation);
void operation_ends(void* handle);
// A channel of the operation's kernel on the device; `operation` is the handle of the parent.
void* channel_begins(void* operation, std::uint64_t device_ns);
void channel_timer(void* handle, std::uint64_t device_ns);
void channel_ends(void* handle);

// "ncclFloat32" has 4 bytes; 0 for a type that is not known.
std::uint32_t type_bytes(const char* type);

// -- the window. `channels`: with times of the device.
void window_opens(bool channels);
void window_closes();
// The next operation that is complete; with `all` also those whose kernels have not ended.
bool next_operation(Operation& out, bool all);
// Since the window opened.
std::uint64_t dropped();
bool loaded();  // NCCL has called us

}  // namespace accel::runtime::nccl
