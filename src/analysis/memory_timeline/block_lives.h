// The blocks of one device's allocator over the recording: when each began and ended, in which phase of training, and
// what that says about its purpose. Internal to the memory timeline.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/memory_timeline.h"
#include "trace/trace_store.h"

namespace accel {

struct EventIndex;

enum class MemoryPhase : std::uint8_t { forward, backward, optimizer, zero_grad };

// Where an allocator event happened on the host.
struct MemoryPlace {
  SliceId slice;     // innermost slice open at that time on that thread
  SliceId outer_op;  // outermost op around it
  MemoryPhase phase = MemoryPhase::forward;
};

// Phases of the whole recording.
struct TrainingPhases {
  std::vector<std::int64_t> backward_starts;   // of outermost backward slices, ascending
  std::vector<std::int64_t> optimizer_starts;  // ascending
  bool adam = false;                           // an Adam-like optimizer steps: two moments of the parameters' size
  std::int64_t accumulated_bytes = 0;          // gradients that autograd accumulates in one backward; 0 = not recorded
};

struct PlacedEvents {
  std::vector<MemoryPlace> places;  // by row of memory_events
  TrainingPhases phases;
};

PlacedEvents place_memory_events(const TraceStore& store, const EventIndex& index);

struct BlockLife {
  std::uint32_t begin = kNone;  // row of memory_events; kNone = before the recording
  std::uint32_t end = kNone;    // kNone = after it
  std::int64_t bytes = 0;
  std::uint32_t begin_at = 0;  // positions of the two in the device's events
  std::uint32_t end_at = 0;
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
};

// `rows` are the device's events in time order.
std::vector<BlockLife> block_lives(const TraceStore& store, const std::vector<std::uint32_t>& rows);

MemoryCategory category_of(const TraceStore& store, const PlacedEvents& placed, const BlockLife& life);

}  // namespace accel
