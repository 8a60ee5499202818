// SamplerThread: runs the samplers that are wanted, on one thread of its own that ends when none is. Values go to the
// named numbers, for rules, and while a window is open into the recording. Owned by the session, started by its control
// thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/buffer/frame_recorder.h"
#include "runtime/sampler/sampler.h"

namespace accel::runtime {

class SamplerThread {
 public:
  SamplerThread(NumberTable& numbers, FrameRecorder& recorder, const std::uint32_t& active)
      : numbers_(numbers), recorder_(recorder), active_(active) {}

  // Bit (1 << source) for every wanted source. Starts the thread when it does not run. Control thread.
  void want(std::uint32_t sources);
  bool runs() const { return runs_.load(std::memory_order_acquire); }
  // Why a sampler that was wanted gives nothing; null while it does.
  const char* absent(std::size_t sampler) const { return absent_[sampler].load(std::memory_order_acquire); }
  // Processor time that sampling took so far.
  std::int64_t cost_ns() const { return cost_ns_.load(std::memory_order_relaxed); }

  // Samples every so many times less often; 1 = as the descriptors say. Any thread.
  void slow_down(std::uint32_t times) { slower_.store(times, std::memory_order_relaxed); }

  static constexpr std::size_t kMaxSamplers = 8;

 private:
  struct Running {
    bool open = false;
    bool failed = false;
    std::int64_t next_ns = 0;
    std::uint16_t slots[kMaxSampleFields] = {};
  };

  void loop();
  void begin(std::size_t index);
  void take(std::size_t index, std::int64_t now_ns);

  NumberTable& numbers_;
  FrameRecorder& recorder_;
  const std::uint32_t& active_;
  std::atomic<std::uint32_t> wanted_{0};
  std::atomic<bool> runs_{false};
  std::atomic<std::int64_t> cost_ns_{0};
  std::atomic<std::uint32_t> slower_{1};
  std::atomic<const char*> absent_[kMaxSamplers] = {};
  Running running_[kMaxSamplers];
};

}  // namespace accel::runtime
