#include "trace/staging.h"

#include <sys/mman.h>

#include <new>

namespace accel {

void* take_pages(std::size_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  return pages;
}

void return_pages(void* pages, std::size_t bytes) { munmap(pages, bytes); }

}  // namespace accel
