// What the data loader spends its time on, as far as the capture tells: by the Python frames and ops inside the fetches
// of the complete steps. Workers are other processes; of them only the waiting shows.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "diagnosis/step_view.h"
#include "trace/trace_store.h"

namespace accel {

enum class LoaderPart : std::uint8_t {
  decode,       // the dataset's __getitem__, less what follows
  collate,      // samples to a batch
  storage,      // reads and opens
  lock,         // waiting for a lock, not for a worker
  unpickle,     // a worker's batch is unpacked in the main thread
  pinning,      // a batch is copied to pinned memory in the main thread
  sampler,      // the next indices
  worker_wait,  // nothing ready from the workers
  other,        // the rest
};
inline constexpr std::size_t kLoaderParts = 9;

struct LoaderWork {
  bool frames = false;  // Python frames were recorded inside
  double total_ns = 0;  // per step
  std::array<double, kLoaderParts> ns{};
  std::array<SliceId, kLoaderParts> longest;  // the user's function for decode and collate, else the slice itself
  // The largest part when it takes most of the time; other when none does.
  LoaderPart main() const;
  double of(LoaderPart part) const { return ns[static_cast<std::size_t>(part)]; }
  SliceId example(LoaderPart part) const { return longest[static_cast<std::size_t>(part)]; }
};

// `fetches` are the outermost slices of __next__ in complete steps.
LoaderWork look_into_fetches(const TraceStore& store, const StepView& view, const std::vector<SliceId>& fetches);

// How many workers take turns, from how regularly a fetch waits long; 0: cannot be told.
int workers_in_turn(const TraceStore& store, const std::vector<SliceId>& fetches);

}  // namespace accel
