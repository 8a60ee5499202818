#include "trace/staging.h"

#include <sys/mman.h>

#include <new>

namespace accel {

void* take_pages(std::size_t bytes, bool present) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (present ? MAP_POPULATE : MAP_NORESERVE);
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (pages != MAP_FAILED) return pages;
  if (const std::new_handler handler = std::get_new_handler()) handler();
  throw std::bad_alloc();
}

void return_pages(void* pages, std::size_t bytes) { munmap(pages, bytes); }

void prefer_large_pages(void* memory, std::size_t bytes) {
  constexpr std::uintptr_t kLarge = std::uintptr_t{2} << 20;
  const std::size_t head = (kLarge - reinterpret_cast<std::uintptr_t>(memory) % kLarge) % kLarge;
  if (head >= bytes) return;
  const std::size_t large = (bytes - head) / kLarge * kLarge;
  if (large > 0) madvise(static_cast<char*>(memory) + head, large, MADV_HUGEPAGE);
}

}  // namespace accel
