#include "runtime/nccl/events.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "runtime/buffer/clock.h"
#include "runtime/buffer/spin_lock.h"
#include "runtime/nccl/abi.h"

namespace accel::runtime::nccl {
namespace {

constexpr std::uint32_t kEvents = 4096;
constexpr std::uint32_t kCommunicators = 512;
// Channels report through a thread of NCCL's that may be late; an operation without any is complete after this.
constexpr std::int64_t kLateNs = 500'000'000;

enum State : std::uint32_t { kFree, kRunning, kStopped };

struct Event {
  Operation operation;
  std::int64_t stopped_ns = 0;
  std::uint32_t generation = 1;
  std::uint32_t state = kFree;
  std::uint32_t channels_open = 0;
  std::uint32_t channels_seen = 0;
};

struct Slot {
  Communicator communicator;
  bool used = false;
};

SpinLock g_lock;  // of all below but the atomics
Event* g_events = nullptr;
std::uint32_t g_free[kEvents];
std::uint32_t g_free_count = 0;
std::uint32_t g_next = 0;  // where next_operation() looks
Slot g_communicators[kCommunicators];
std::uint32_t g_communicator_count = 0;
int* g_mask = nullptr;  // of NCCL, one for the process; valid while a communicator lives
bool g_channels = false;
std::atomic<bool> g_open{false};
std::atomic<bool> g_loaded{false};
std::atomic<std::uint64_t> g_dropped{0};

// A handle is no pointer: generation, place and kind, so that a late call for an event that is gone is known as such.
constexpr std::uintptr_t kOperation = 1;
constexpr std::uintptr_t kChannel = 2;

void* handle_of(std::uint32_t place, std::uint32_t generation, std::uintptr_t kind) {
  const std::uintptr_t value = (std::uintptr_t{generation} << 32U) | (std::uintptr_t{place} << 2U) | kind;
  return reinterpret_cast<void*>(value);  // NOLINT(performance-no-int-to-ptr): never followed
}

// With the lock held.
Event* event_of(void* handle, std::uintptr_t kind) {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  const std::uintptr_t place = (value & 0xFFFFFFFFU) >> 2U;
  if ((value & 3U) != kind || place >= kEvents || g_events == nullptr) return nullptr;
  Event& event = g_events[place];
  return event.state != kFree && event.generation == value >> 32U ? &event : nullptr;
}

int mask_of(bool open, bool channels) {
  if (!open) return 0;
  return static_cast<int>(kCollective | kPointToPoint | kCopyEngineCollective | (channels ? kKernelChannel : 0));
}

void set_mask() {
  if (g_mask != nullptr)
    __atomic_store_n(g_mask, mask_of(g_open.load(std::memory_order_relaxed), g_channels), __ATOMIC_RELAXED);
}

bool complete(const Event& event, std::int64_t now, bool all) {
  if (event.state != kStopped) return false;
  if (all || !g_channels) return true;
  if (event.channels_open > 0) return false;
  return event.channels_seen > 0 || now - event.stopped_ns > kLateNs;
}

}  // namespace

void communicator_begins(const Communicator& communicator, void** context, int* mask) {
  g_loaded.store(true, std::memory_order_relaxed);
  const SpinGuard guard(g_lock);
  *context = nullptr;
  g_mask = mask;
  ++g_communicator_count;
  for (std::uint32_t i = 0; i < kCommunicators; ++i) {
    if (g_communicators[i].used) continue;
    g_communicators[i] = {communicator, true};
    *context = &g_communicators[i];
    break;
  }
  set_mask();
}

void communicator_ends(void* context) {
  const SpinGuard guard(g_lock);
  auto* slot = static_cast<Slot*>(context);
  if (slot >= g_communicators && slot < g_communicators + kCommunicators) slot->used = false;
  // After the last one NCCL may unload; its mask is not ours any more.
  if (g_communicator_count > 0) --g_communicator_count;
  if (g_communicator_count == 0) g_mask = nullptr;
}

Communicator communicator_of(void* context) {
  const SpinGuard guard(g_lock);
  const auto* slot = static_cast<const Slot*>(context);
  return slot >= g_communicators && slot < g_communicators + kCommunicators && slot->used ? slot->communicator
                                                                                          : Communicator();
}

void* operation_begins(const Operation& operation) {
  if (!g_open.load(std::memory_order_relaxed)) return nullptr;
  const std::uint64_t begin = ticks();
  const auto tid = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  const SpinGuard guard(g_lock);
  if (g_events == nullptr || g_free_count == 0) {
    g_dropped.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  const std::uint32_t place = g_free[--g_free_count];
  Event& event = g_events[place];
  event.operation = operation;
  event.operation.begin = begin;
  event.operation.tid = tid;
  event.state = kRunning;
  event.channels_open = 0;
  event.channels_seen = 0;
  return handle_of(place, event.generation, kOperation);
}

void operation_ends(void* handle) {
  const SpinGuard guard(g_lock);
  Event* event = event_of(handle, kOperation);
  if (event == nullptr || event->state != kRunning) return;
  event->operation.end = ticks();
  event->stopped_ns = monotonic_ns();
  event->state = kStopped;
}

void* channel_begins(void* operation, std::uint64_t device_ns) {
  const SpinGuard guard(g_lock);
  Event* event = event_of(operation, kOperation);
  if (event == nullptr) return nullptr;
  ++event->channels_open;
  ++event->channels_seen;
  if (device_ns != 0 && device_ns < event->operation.device_begin) event->operation.device_begin = device_ns;
  return handle_of(static_cast<std::uint32_t>(event - g_events), event->generation, kChannel);
}

void channel_timer(void* handle, std::uint64_t device_ns) {
  const SpinGuard guard(g_lock);
  Event* event = event_of(handle, kChannel);
  if (event == nullptr || device_ns == 0) return;
  std::uint64_t& end = event->operation.device_end;
  if (end == ~std::uint64_t{0} || device_ns > end) end = device_ns;
}

void channel_ends(void* handle) {
  const SpinGuard guard(g_lock);
  Event* event = event_of(handle, kChannel);
  if (event != nullptr && event->channels_open > 0) --event->channels_open;
}

std::uint32_t type_bytes(const char* type) {
  struct Type {
    const char* name;
    std::uint32_t bytes;
  };
  constexpr Type kTypes[] = {
      {"ncclInt8", 1},    {"ncclUint8", 1},    {"ncclInt32", 4},      {"ncclUint32", 4},
      {"ncclInt64", 8},   {"ncclUint64", 8},   {"ncclFloat16", 2},    {"ncclFloat32", 4},
      {"ncclFloat64", 8}, {"ncclBfloat16", 2}, {"ncclFloat8e4m3", 1}, {"ncclFloat8e5m2", 1},
  };
  for (const Type& known : kTypes) {
    if (type != nullptr && std::strcmp(type, known.name) == 0) return known.bytes;
  }
  return 0;
}

void window_opens(bool channels) {
  void* memory = nullptr;
  if (g_events == nullptr) {
    memory = ::mmap(nullptr, sizeof(Event) * kEvents, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;  // every event is then counted as dropped
  }
  const SpinGuard guard(g_lock);
  if (g_events == nullptr) {
    g_events = static_cast<Event*>(memory);
    for (std::uint32_t i = 0; i < kEvents; ++i) g_events[i].generation = 1;
  }
  g_free_count = 0;
  for (std::uint32_t i = kEvents; i-- > 0;) {
    // Generations go on: a handle of the last window is not one of this one.
    if (g_events[i].state != kFree) g_events[i].generation = (g_events[i].generation + 1) & 0x7FFFFFFFU;
    g_events[i].state = kFree;
    g_free[g_free_count++] = i;
  }
  g_next = 0;
  g_dropped.store(0, std::memory_order_relaxed);
  g_channels = channels;
  g_open.store(true, std::memory_order_relaxed);
  set_mask();
}

void window_closes() {
  const SpinGuard guard(g_lock);
  g_open.store(false, std::memory_order_relaxed);
  set_mask();
}

bool next_operation(Operation& out, bool all) {
  const std::int64_t now = monotonic_ns();
  const SpinGuard guard(g_lock);
  for (std::uint32_t looked = 0; g_events != nullptr && looked < kEvents; ++looked) {
    const std::uint32_t place = g_next;
    g_next = (g_next + 1) % kEvents;
    Event& event = g_events[place];
    if (!complete(event, now, all)) continue;
    out = event.operation;
    event.state = kFree;
    event.generation = (event.generation + 1) & 0x7FFFFFFFU;
    g_free[g_free_count++] = place;
    return true;
  }
  return false;
}

std::uint64_t dropped() { return g_dropped.load(std::memory_order_relaxed); }
bool loaded() { return g_loaded.load(std::memory_order_relaxed); }

}  // namespace accel::runtime::nccl
