#include "trace/staging.h"

#include <sys/mman.h>

#include <new>

namespace accel {

void* take_pages(std::size_t bytes, bool present) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (present ? MAP_POPULATE : MAP_NORESERVE);
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  return pages;
}

void return_pages(void* pages, std::size_t bytes) { munmap(pages, bytes); }

void prefer_large_pages(void* memory, std::size_t bytes) {
  constexpr std::uintptr_t kLarge = std::uintptr_t{2} << 20;
  const auto first = (reinterpret_cast<std::uintptr_t>(memory) + kLarge - 1) & ~(kLarge - 1);
  const auto last = (reinterpret_cast<std::uintptr_t>(memory) + bytes) & ~(kLarge - 1);
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

}  // namespace accel
