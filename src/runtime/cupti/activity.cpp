#include "runtime/cupti/activity.h"

#include <sys/mman.h>

#include <cstdio>
#include <ctime>

#include "runtime/buffer/clock.h"
#include "runtime/cupti/other_tool.h"

namespace accel::runtime::cupti {
namespace {

static_assert(Activity::kBuffers == 32, "a bit per buffer in 32 bits");

constinit Activity g_activity;

constexpr std::uint32_t kDeviceKinds[] = {kKindConcurrentKernel, kKindMemcpy, kKindMemcpyPeer};
// Sets go with the calls: alone they cost 5 % of a step of small graph nodes, where copies cost nothing that could be
// measured (benchmarks/results/device-windows-2026-11-30.md).
constexpr std::uint32_t kRichKinds[] = {kKindMemset, kKindRuntime, kKindDriver};

void on_request(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *most_records = 0;  // as many as fit
  g_activity.request(buffer, bytes);
}

void on_complete(Context context, std::uint32_t stream, std::uint8_t* buffer, std::size_t /*bytes*/,
                 std::size_t valid_bytes) {
  g_activity.complete(context, stream, buffer, valid_bytes);
}

// The recording's own clock: device stamps come in the unit of all other records, whatever clock a profiler before us
// has left in CUPTI.
std::uint64_t on_timestamp() { return ticks(); }

constexpr char kCloseOther[] = "close the other profiler, or look at the host's side alone";

const char* remedy_for(Result result) {
  switch (result) {
    case kErrorPrivileges:
      return "start the container with --cap-add=SYS_ADMIN, or set NVreg_RestrictProfilingToAdminUsers=0 for the "
             "driver";
    case kErrorOneSubscriber:
      return kCloseOther;
    default:
      return "accel-profiler doctor says what this machine can record; the host's side of the window is whole";
  }
}

void pause_for(long nanoseconds) {
  const timespec time = {0, nanoseconds};
  ::nanosleep(&time, nullptr);
}

class Guard {
 public:
  explicit Guard(pthread_mutex_t& mutex) : mutex_(mutex) { ::pthread_mutex_lock(&mutex_); }
  ~Guard() { ::pthread_mutex_unlock(&mutex_); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

}  // namespace

Activity& activity() { return g_activity; }

Activity::Refusal Activity::start(bool rich) {
  const Guard guard(mutex_);
  if (running_.load()) return {"the last window is still being read", "capture again"};
  char tool[120];
  if (other_tool(tool, sizeof tool)) {
    std::snprintf(other_tool_, sizeof other_tool_, "another tool has CUPTI in this process: %s", tool);
    return {other_tool_, "record with one profiler at a time: run without that tool, or use its own recording"};
  }
  const char* why = bind(library_);
  if (why != nullptr) return {why, "install the CUPTI of the CUDA version that the program uses"};
  if (memory_ == nullptr) {
    void* memory = ::mmap(nullptr, kBuffers * kBufferBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return {"no memory for the buffers of device records", "leave the process more memory"};
    memory_ = static_cast<std::uint8_t*>(memory);
  }
  rich_ = rich;
  paused_ = false;
  pauses_ = 0;
  failed_resumes_ = 0;
  resume_failed_ = nullptr;
  refused_.store(0);
  dropped_.store(0);
  foreign_.store(0);
  return start_locked();
}

Activity::Refusal Activity::start_locked() {
  const Functions& f = library_.functions;
  if (f.register_callbacks(on_request, on_complete) != 0)
    return {"CUPTI takes no buffers of ours: another tool (Nsight, a debugger) has this process", kCloseOther};
  if (f.register_timestamp(on_timestamp) != 0) return {"CUPTI does not take the recording's clock", kCloseOther};
  // Within a millisecond or it is not our clock that will stamp the records.
  std::uint64_t theirs = 0;
  const std::uint64_t ours = ticks();
  const double most = ticks_per_second() * 1e-3;
  if (f.get_timestamp(&theirs) != 0 ||
      (theirs > ours ? static_cast<double>(theirs - ours) : static_cast<double>(ours - theirs)) > most)
    return {"CUPTI stamps with another clock than the recording's", kCloseOther};
  // Thread ids as in all other records; whoever comes after us finds what it had set.
  if (f.get_thread_id_type(&thread_ids_before_) != 0 || f.set_thread_id_type(kThreadIdOfSystem) != 0)
    return {"CUPTI does not name threads as the system does", kCloseOther};
  running_.store(true, std::memory_order_release);
  Refusal refusal;
  for (const std::uint32_t kind : kDeviceKinds) {
    const bool optional = kind == kKindMemcpyPeer;
    const Result result = f.enable(kind);
    if (result == 0 || optional) continue;
    if (f.get_result_string(result, &refusal.why) != 0) refusal.why = "CUPTI records no kernels here";
    refusal.remedy = remedy_for(result);
    break;
  }
  for (const std::uint32_t kind : kRichKinds) {
    if (refusal.why == nullptr && rich_) (void)f.enable(kind);
  }
  if (refusal.why != nullptr) stop_locked(false);
  return refusal;
}

void Activity::flush() {
  if (running()) (void)library_.functions.flush_all(0);
}

void Activity::wait_for_buffers(int milliseconds) {
  for (int waited = 0; waited < milliseconds; ++waited) {
    if ((free_.load(std::memory_order_acquire) | full_.load(std::memory_order_acquire)) == kAll) return;
    pause_for(1'000'000);
  }
}

void Activity::stop_locked(bool device_hangs) {
  constexpr int kReadyMs = 100;
  constexpr int kForcedMs = 2000;
  const Functions& f = library_.functions;
  for (const std::uint32_t kind : kDeviceKinds) (void)f.disable(kind);
  for (const std::uint32_t kind : kRichKinds) {
    if (rich_) (void)f.disable(kind);
  }
  (void)f.flush_all(0);
  wait_for_buffers(kReadyMs);
  if (!device_hangs && (free_.load() | full_.load()) != kAll) {
    (void)f.flush_all(kFlushForced);
    wait_for_buffers(kForcedMs);
  }
  (void)f.set_thread_id_type(thread_ids_before_);
  running_.store(false, std::memory_order_release);
}

void Activity::stop(bool device_hangs) {
  const Guard guard(mutex_);
  if (running_.load()) stop_locked(device_hangs);
  paused_ = false;
}

void Activity::pause() {
  const Guard guard(mutex_);
  if (!running_.load()) return;
  stop_locked(false);
  paused_ = true;
  ++pauses_;
}

void Activity::resume() {
  const Guard guard(mutex_);
  if (!paused_) return;
  const Refusal refusal = start_locked();
  paused_ = refusal.why != nullptr;
  if (!paused_) return;
  ++failed_resumes_;
  resume_failed_ = refusal.why;
}

Activity::Losses Activity::losses() {
  const Guard guard(mutex_);
  const std::uint32_t away = ~(free_.load() | full_.load());
  return {refused_.load(), dropped_.load(), foreign_.load(), static_cast<std::uint32_t>(__builtin_popcount(away)),
          pauses_,         failed_resumes_, resume_failed_};
}

void Activity::request(std::uint8_t** buffer, std::size_t* bytes) {
  std::uint32_t free = free_.load(std::memory_order_acquire);
  while (free != 0) {
    const auto at = static_cast<std::uint32_t>(__builtin_ctz(free));
    if (free_.compare_exchange_weak(free, free & ~(1U << at), std::memory_order_acq_rel)) {
      *buffer = memory_ + std::size_t{at} * kBufferBytes;
      *bytes = kBufferBytes;
      return;
    }
  }
  refused_.fetch_add(1, std::memory_order_relaxed);
  *buffer = nullptr;
  *bytes = 0;
}

void Activity::complete(Context context, std::uint32_t stream, std::uint8_t* buffer, std::size_t valid_bytes) {
  const std::size_t offset = static_cast<std::size_t>(buffer - memory_);
  if (buffer == nullptr) return;
  if (memory_ == nullptr || buffer < memory_ || offset >= kBuffers * kBufferBytes || offset % kBufferBytes != 0) {
    foreign_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  std::size_t dropped = 0;
  if (library_.functions.dropped_records(context, stream, &dropped) == 0 && dropped > 0)
    dropped_.fetch_add(dropped, std::memory_order_relaxed);
  const auto at = static_cast<std::uint32_t>(offset / kBufferBytes);
  if (valid_bytes == 0) {
    free_.fetch_or(1U << at, std::memory_order_acq_rel);
    return;
  }
  valid_bytes_[at].store(valid_bytes < kBufferBytes ? valid_bytes : kBufferBytes, std::memory_order_relaxed);
  full_.fetch_or(1U << at, std::memory_order_acq_rel);
}

void Activity::drain(void (*take)(void* context, std::uint8_t* buffer, std::size_t valid_bytes), void* context) {
  for (std::uint32_t full = full_.load(std::memory_order_acquire); full != 0; full &= full - 1) {
    const auto at = static_cast<std::uint32_t>(__builtin_ctz(full));
    take(context, memory_ + std::size_t{at} * kBufferBytes, valid_bytes_[at].load(std::memory_order_relaxed));
    // In this order: a buffer that is free may be filled again at once.
    full_.fetch_and(~(1U << at), std::memory_order_acq_rel);
    free_.fetch_or(1U << at, std::memory_order_acq_rel);
  }
}

}  // namespace accel::runtime::cupti
