// A zone as Tracy records it, for comparison: two events, each with a time-stamp counter read, appended to a block-wise
// queue of the thread's own that another thread empties; the begin carries a pointer to the place in the source.
// Written after the layout that Tracy's client has (TracyQueue, TracyProfiler), without its code.
#pragma once

#include <x86intrin.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace tracy_style {

struct SourceLocation {
  const char* name;
  const char* function;
  const char* file;
  std::uint32_t line;
};

#pragma pack(push, 1)
struct Item {
  std::uint8_t type;
  std::int64_t time;
  std::uint64_t location;
  std::uint8_t rest[15];
};
#pragma pack(pop)
static_assert(sizeof(Item) == 32);

class Queue {
 public:
  static constexpr std::uint64_t kItems = 1 << 16;
  Item& next() {
    const std::uint64_t at = tail_.load(std::memory_order_relaxed);
    return items_[at % kItems];
  }
  void commit() { tail_.store(tail_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  std::uint64_t produced() const { return tail_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::uint64_t> tail_{0};
  Item items_[kItems];
};

class Zone {
 public:
  Zone(Queue& queue, const SourceLocation& location) : queue_(queue) {
    Item& item = queue_.next();
    item.type = 1;
    item.time = static_cast<std::int64_t>(__rdtsc());
    item.location = reinterpret_cast<std::uint64_t>(&location);
    queue_.commit();
  }
  ~Zone() {
    Item& item = queue_.next();
    item.type = 2;
    item.time = static_cast<std::int64_t>(__rdtsc());
    queue_.commit();
  }
  Zone(const Zone&) = delete;
  Zone& operator=(const Zone&) = delete;

 private:
  Queue& queue_;
};

}  // namespace tracy_style
