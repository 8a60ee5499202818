// Objects in memory of their own, straight from the system: the library allocates nothing by operator new.
#pragma once

#include <sys/mman.h>

#include <new>

namespace accel::runtime {

// Null when memory is short. Never unmapped by itself.
template <typename T>
T* make_mapped() {
  void* memory = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) T();
}

}  // namespace accel::runtime
