#include "runtime/sampler/sampler_thread.h"

#include <cmath>
#include <cstring>
#include <ctime>
#include <limits>

#include "runtime/buffer/clock.h"
#include "runtime/buffer/detached_thread.h"
#include "runtime/session/capture.h"

namespace accel::runtime {

void SamplerThread::want(std::uint32_t sources) {
  wanted_.store(sources, std::memory_order_release);
  if (sources == 0 || runs_.load(std::memory_order_acquire)) return;
  runs_.store(true, std::memory_order_release);
  cost_ns_.store(0, std::memory_order_relaxed);  // of the thread that ended
  const bool started =
      start_detached("accel-sampler", 5, [](void* samplers) { static_cast<SamplerThread*>(samplers)->loop(); }, this);
  if (!started) runs_.store(false, std::memory_order_release);
}

void SamplerThread::begin(std::size_t index) {
  std::size_t count = 0;
  const SamplerDescriptor& sampler = *samplers(count)[index];
  Running& running = running_[index];
  const char* why = sampler.open();
  absent_[index].store(why, std::memory_order_release);
  running.open = why == nullptr;
  running.failed = why != nullptr;
  running.next_ns = 0;
  for (std::size_t f = 0; f < sampler.field_count; ++f) running.slots[f] = numbers_.slot(sampler.fields[f].name);
}

void SamplerThread::take(std::size_t index, std::int64_t now_ns) {
  std::size_t count = 0;
  const SamplerDescriptor& sampler = *samplers(count)[index];
  double values[kMaxSampleFields];
  for (double& value : values) value = std::numeric_limits<double>::quiet_NaN();
  sampler.sample(now_ns, values);
  const bool recording = __atomic_load_n(&active_, __ATOMIC_RELAXED) != 0;
  for (std::size_t f = 0; f < sampler.field_count; ++f) {
    if (std::isnan(values[f])) continue;  // not taken this time: the last value stands
    numbers_.set(running_[index].slots[f], values[f]);
    if (!recording || running_[index].slots[f] == NumberTable::kNoSlot) continue;
    std::uint64_t bits;
    std::memcpy(&bits, &values[f], sizeof bits);
    recorder_.instant(kNumberRecord | running_[index].slots[f], bits);
  }
  running_[index].next_ns = now_ns + (recording ? sampler.window_interval_ns : sampler.interval_ns) *
                                         std::int64_t{slower_.load(std::memory_order_relaxed)};
}

void SamplerThread::loop() {
  constexpr std::int64_t kTickNs = 10'000'000;
  std::size_t count = 0;
  const SamplerDescriptor* const* all = samplers(count);
  for (std::uint32_t wanted = wanted_.load(std::memory_order_acquire); wanted != 0;
       wanted = wanted_.load(std::memory_order_acquire)) {
    const std::int64_t now = monotonic_ns();
    for (std::size_t i = 0; i < count && i < kMaxSamplers; ++i) {
      Running& running = running_[i];
      if ((wanted >> static_cast<unsigned>(all[i]->source) & 1U) == 0 || running.failed) continue;
      if (!running.open) begin(i);
      // A window that has just opened does not wait for the slower rhythm outside of it.
      const bool recording = __atomic_load_n(&active_, __ATOMIC_RELAXED) != 0;
      const std::int64_t slowest = all[i]->window_interval_ns * std::int64_t{slower_.load(std::memory_order_relaxed)};
      if (recording && running.next_ns > now + slowest) running.next_ns = now;
      if (running.open && now >= running.next_ns) take(i, now);
    }
    timespec used{};
    if (::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0)
      cost_ns_.store(used.tv_sec * 1'000'000'000 + used.tv_nsec, std::memory_order_relaxed);
    const timespec pause = {0, kTickNs};
    ::nanosleep(&pause, nullptr);
  }
  for (std::size_t i = 0; i < count && i < kMaxSamplers; ++i) {
    if (running_[i].open) all[i]->close();
    running_[i] = Running();
  }
  runs_.store(false, std::memory_order_release);
}

}  // namespace accel::runtime
