// /dev/shm against what training jobs need of it. The recorder's own buffers are ordinary memory and its files are on
// disk, whatever /dev/shm has; data loader workers and NCCL fail or fall back to slower ways when it is small. Nothing
// is ever remounted here. Pure but for two system calls.
#pragma once

#include <cstddef>
#include <cstdint>

namespace accel::runtime {

inline constexpr std::uint64_t kEnoughSharedMemory = std::uint64_t{512} << 20;

struct SharedMemoryAdvice {
  char message[200] = {};
  char remedy[240] = {};
};

// True: there is something to say.
bool check_shared_memory(const char* path, std::uint64_t needed, SharedMemoryAdvice& advice);

}  // namespace accel::runtime
