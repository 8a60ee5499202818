#include "fake_cupti.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <ctime>
#include <mutex>

#include "runtime/cupti/abi.h"

namespace {

using namespace accel::runtime::cupti;

std::mutex g_mutex;
std::atomic<RequestBuffer> g_request{nullptr};
std::atomic<BufferComplete> g_complete{nullptr};
std::atomic<Timestamp> g_timestamp{nullptr};
std::atomic<std::uint64_t> g_kinds{0};
std::atomic<std::uint32_t> g_thread_ids{0};
std::atomic<bool> g_other_clock{false};
std::atomic<Result> g_refusal{0};
std::atomic<bool> g_keep{false};
std::uint8_t* g_buffer = nullptr;
std::size_t g_bytes = 0;
std::size_t g_used = 0;
std::size_t g_dropped = 0;
std::uint8_t g_foreign[64] = {};

constexpr std::uint32_t kGetLastError = 10;  // numbers of our own
constexpr std::uint32_t kLaunchKernel = 211;

std::size_t size_of(std::uint32_t kind) {
  switch (kind) {
    case kKindConcurrentKernel:
      return 216;  // as in CUDA 13.0: longer than what the recorder knows of
    case kKindMemcpy:
      return 96;
    case kKindRuntime:
      return sizeof(CallRecord);
    default:
      return 0;
  }
}

bool on(std::uint32_t kind) { return (g_kinds >> kind & 1) != 0; }

void give_back() {
  if (g_buffer == nullptr) return;
  std::uint8_t* buffer = g_buffer;
  g_buffer = nullptr;
  g_complete.load()(nullptr, 0, buffer, g_bytes, g_used);
}

template <typename Record>
void add(const Record& record) {
  if (!on(record.kind)) return;
  const std::size_t size = size_of(record.kind);
  if (g_buffer != nullptr && g_used + size > g_bytes) give_back();
  if (g_buffer == nullptr) {
    std::size_t most = 0;
    g_used = 0;
    g_request.load()(&g_buffer, &g_bytes, &most);
  }
  if (g_buffer == nullptr) {
    ++g_dropped;
    return;
  }
  std::memset(g_buffer + g_used, 0, size);
  std::memcpy(g_buffer + g_used, &record, sizeof record < size ? sizeof record : size);
  g_used += size;
}

std::int64_t now_ns() {
  timespec t;
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

// In the unit of the recording's clock.
std::uint64_t millisecond() {
  static const std::uint64_t ticks = [] {
    const std::int64_t began = now_ns();
    const std::uint64_t before = g_timestamp.load()();
    ::usleep(5000);
    const std::uint64_t after = g_timestamp.load()();
    return static_cast<std::uint64_t>(static_cast<double>(after - before) * 1e6 /
                                      static_cast<double>(now_ns() - began));
  }();
  return ticks;
}

void kernel(const char* name, std::uint32_t correlation, std::int32_t grid, bool timed) {
  const std::lock_guard guard(g_mutex);
  if (g_timestamp == nullptr) return;
  KernelRecord record{};
  record.kind = kKindConcurrentKernel;
  record.end = timed ? g_timestamp.load()() : 0;
  record.start = timed ? record.end - millisecond() : 0;
  record.correlation = correlation;
  record.stream = 7;
  record.context = 1;
  record.name = name;
  record.registers = 32;
  for (int i = 0; i < 3; ++i) record.grid[i] = record.block[i] = 1;
  record.grid[0] = grid;
  record.block[0] = 128;
  record.dynamic_shared_memory = 1024;
  add(record);
  CallRecord call{};
  call.kind = kKindRuntime;
  call.function = kLaunchKernel;
  call.start = record.start - millisecond() / 4;
  call.end = record.start - millisecond() / 8;
  call.thread = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  call.correlation = correlation;
  if (timed) add(call);
}

}  // namespace

extern "C" {

void fake_cupti_kernel(const char* name, std::uint32_t correlation, std::int32_t grid) {
  kernel(name, correlation, grid, true);
}
void fake_cupti_kernel_without_time(const char* name) { kernel(name, 0, 1, false); }

void fake_cupti_copy(std::uint64_t bytes, std::uint32_t correlation) {
  const std::lock_guard guard(g_mutex);
  if (g_timestamp == nullptr) return;
  CopyRecord record{};
  record.kind = kKindMemcpy;
  record.copy_kind = 1;
  record.source = 1;
  record.destination = 3;
  record.bytes = bytes;
  record.end = g_timestamp.load()();
  record.start = record.end - millisecond();
  record.correlation = correlation;
  record.stream = 7;
  record.context = 1;
  add(record);
}

void fake_cupti_error_check() {
  const std::lock_guard guard(g_mutex);
  if (g_timestamp == nullptr) return;
  CallRecord call{};
  call.kind = kKindRuntime;
  call.function = kGetLastError;
  call.start = call.end = g_timestamp.load()();
  add(call);
}

void fake_cupti_other_clock(int value) { g_other_clock = value != 0; }
void fake_cupti_refuse(std::uint32_t result) { g_refusal = static_cast<Result>(result); }
void fake_cupti_keep_buffers(int value) { g_keep = value != 0; }
void fake_cupti_foreign_buffer() {
  if (g_complete != nullptr) g_complete.load()(nullptr, 0, g_foreign, sizeof g_foreign, sizeof g_foreign);
}
std::uint32_t fake_cupti_enabled_kinds() { return static_cast<std::uint32_t>(g_kinds); }
std::uint32_t fake_cupti_thread_id_type() { return g_thread_ids; }

Result cuptiGetVersion(std::uint32_t* version) {
  *version = 130001;
  return 0;
}
Result cuptiGetResultString(Result result, const char** text) {
  *text = result == kErrorPrivileges      ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
          : result == kErrorOneSubscriber ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
                                          : "CUPTI_ERROR_FAKE";
  return 0;
}
Result cuptiGetTimestamp(std::uint64_t* ticks) {
  *ticks = g_timestamp == nullptr ? 0 : g_timestamp.load()() / (g_other_clock ? 2 : 1);
  return 0;
}
Result cuptiGetCallbackName(std::uint32_t domain, std::uint32_t function, const char** name) {
  if (domain != kDomainRuntime) return 1;
  *name = function == kLaunchKernel ? "cudaLaunchKernel_v7000" : "cudaGetLastError_v3020";
  return 0;
}
Result cuptiActivityRegisterCallbacks(RequestBuffer request, BufferComplete complete) {
  const std::lock_guard guard(g_mutex);
  g_request = request;
  g_complete = complete;
  return 0;
}
Result cuptiActivityRegisterTimestampCallback(Timestamp timestamp) {
  g_timestamp = timestamp;
  return 0;
}
Result cuptiActivityEnable(std::uint32_t kind) {
  const std::lock_guard guard(g_mutex);
  if (g_refusal != 0) return g_refusal;
  g_kinds |= std::uint64_t{1} << kind;
  return 0;
}
Result cuptiActivityDisable(std::uint32_t kind) {
  const std::lock_guard guard(g_mutex);
  g_kinds &= ~(std::uint64_t{1} << kind);
  return 0;
}
Result cuptiActivityFlushAll(std::uint32_t /*flag*/) {
  const std::lock_guard guard(g_mutex);
  if (!g_keep) give_back();
  return 0;
}
Result cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid_bytes, const std::uint32_t** record) {
  const std::uint8_t* next = buffer;
  if (*record != nullptr) {
    next = reinterpret_cast<const std::uint8_t*>(*record);
    next += size_of(**record);
  }
  if (next >= buffer + valid_bytes) return kNoMoreRecords;
  *record = reinterpret_cast<const std::uint32_t*>(next);
  return size_of(**record) == 0 ? 1 : 0;
}
Result cuptiActivityGetNumDroppedRecords(Context /*context*/, std::uint32_t /*stream*/, std::size_t* dropped) {
  *dropped = g_dropped;
  g_dropped = 0;
  return 0;
}
Result cuptiGetThreadIdType(std::uint32_t* type) {
  *type = g_thread_ids;
  return 0;
}
Result cuptiSetThreadIdType(std::uint32_t type) {
  g_thread_ids = type;
  return 0;
}
}
