// StepRing: step marks on their way from the thread that makes them to the control thread. One producer, one consumer.
// A full ring drops and counts.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/session/window_plan.h"

namespace accel::runtime {

struct StepRecord {
  std::int64_t step;
  std::uint64_t begin;
  std::uint64_t end;
  double loss;                  // NaN: not known
  double samples;               // NaN: not known
  std::int64_t loader_wait_ns;  // negative: not known
  std::int64_t epoch;           // negative: not known
  std::uint32_t tid;
  WindowPlan::Phase phase;
};
static_assert(sizeof(StepRecord) <= 64);

class StepRing {
 public:
  void push(const StepRecord& record) {
    const std::uint32_t head = head_.load(std::memory_order_relaxed);
    if (head - tail_.load(std::memory_order_acquire) >= kSize) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    records_[head % kSize] = record;
    head_.store(head + 1, std::memory_order_release);
  }
  bool pop(StepRecord& record) {
    const std::uint32_t tail = tail_.load(std::memory_order_relaxed);
    if (tail == head_.load(std::memory_order_acquire)) return false;
    record = records_[tail % kSize];
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }
  // Exactly half: the producer asks after every push, and one wake-up is enough.
  bool half_full() const {
    return head_.load(std::memory_order_relaxed) - tail_.load(std::memory_order_relaxed) == kSize / 2;
  }
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kSize = 512;
  std::atomic<std::uint32_t> head_{0};
  std::atomic<std::uint32_t> tail_{0};
  std::atomic<std::uint64_t> dropped_{0};
  StepRecord records_[kSize];
};

}  // namespace accel::runtime
