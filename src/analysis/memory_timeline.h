// Memory timeline: what the framework's caching allocator held on each device while it was recorded: level, peak and
// who was alive at it, churn, growth from step to step, fragmentation. From the allocator's own events
// (profile_memory=True); the driver's calls are counted from the runtime calls and need no such events. What other
// libraries and processes hold on the device is not in the recording. Constant after it is made.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "trace/trace_store.h"

namespace accel {

// What a block of memory is for, told from its life: where it was allocated and freed again.
enum class MemoryCategory : std::uint8_t {
  parameters,       // size of the gradients that autograd accumulates: a gradient has its parameter's shape and type
  gradients,        // made in backward, alive in the optimizer step or freed by zero_grad
  optimizer_state,  // made in an optimizer step and kept; else the moments that an Adam optimizer keeps
  activations,      // made outside backward, alive when a backward begins; the batch counts too
  workspace,        // given back before any of that: scratch and intermediate results
  unknown,          // the recording does not tell
};
inline constexpr std::size_t kMemoryCategoryCount = 6;
std::string_view to_string(MemoryCategory category);

// How the bytes of a category are known.
enum class MemoryBasis : std::uint8_t {
  none,     // there are none
  life,     // every block was seen: allocated, freed or both
  shapes,   // (partly) held since before the recording; the size comes from recorded shapes and types
  assumed,  // from the name of the optimizer and the size of the parameters
  rest,     // what is left of the level that the allocator states
};
std::string_view to_string(MemoryBasis basis);

struct CategoryMemory {
  std::int64_t bytes = 0;
  std::uint64_t blocks = 0;  // those seen as blocks
  MemoryBasis basis = MemoryBasis::none;
};

struct MemoryBlock {
  std::int64_t bytes = 0;
  MemoryCategory category = MemoryCategory::unknown;
  std::int64_t time_ns = kNotRecorded;  // of its allocation; not recorded: before the recording
  std::int32_t step = -1;               // index into StepSegmentation::steps
  SliceId slice;                        // innermost slice around its allocation, else around its end
  bool from_before = false;
};

struct MemoryPoint {
  std::int64_t time_ns = 0;
  std::int64_t allocated = 0;
  std::int64_t reserved = kNotRecorded;
};

struct MemoryPeak {
  MemoryPoint at;
  std::int32_t step = -1;
  SliceId slice;  // innermost slice around the allocation that reached it
  // By category, adding up to at.allocated; nothing when the events contradict the allocator's own total.
  std::optional<std::array<CategoryMemory, kMemoryCategoryCount>> categories;
  std::vector<MemoryBlock> largest;  // alive at the peak, largest first
};

struct MemoryStep {
  std::uint32_t step = 0;  // index into StepSegmentation::steps
  std::int64_t low = 0;    // allocated
  std::int64_t high = 0;
};

struct MemoryGrowth {
  std::uint32_t steps = 0;            // complete steps in a row that were compared
  std::int64_t bytes_per_step = 0;    // median change of the lowest level from one step to the next
  std::int64_t total_bytes = 0;       // last low less first low
  double rising_share = 0;            // of the changes: those upwards
  SliceId slice;                      // op or range whose blocks stay alive most
  std::int64_t slice_bytes_kept = 0;  // that it allocated in these steps and nobody freed
};

struct MemoryFragmentation {
  std::int64_t slack_at_peak = 0;      // reserved less allocated at the peak of allocated
  std::int64_t largest_slack = 0;      // the most at any time in steps
  std::uint64_t driver_growth = 0;     // allocations for which the reserved memory had to grow
  std::uint64_t forced = 0;            // of them: although at least as much as asked for was reserved and free
  std::int64_t forced_bytes = 0;       // the largest such request
  std::int64_t forced_free_bytes = 0;  // free then
  std::int64_t forced_time_ns = 0;
  SliceId forced_slice;
};

struct DeviceMemory {
  std::int64_t device = 0;
  std::int64_t total_bytes = kNotRecorded;  // of the card
  std::uint64_t events = 0;
  bool has_levels = false;            // the events carry the allocator's totals; else there is no level, peak or growth
  std::vector<MemoryPoint> timeline;  // thinned: see kMemoryStretches
  MemoryPeak peak;
  std::int64_t reserved_peak = kNotRecorded;
  // Per complete step.
  double allocations_per_step = 0;
  double bytes_per_step = 0;
  std::uint64_t freed_from_before = 0;  // frees of blocks that were allocated before the recording
  std::vector<MemoryStep> steps;        // complete ones
  std::optional<MemoryGrowth> growth;   // needs three complete steps
  MemoryFragmentation fragmentation;
};

// Calls of the driver within complete steps, all devices together.
struct DriverMemoryCalls {
  std::uint32_t steps = 0;
  double allocations = 0;  // per step
  double frees = 0;
  double host_ns = 0;
};

struct MemoryTimeline {
  std::vector<DeviceMemory> devices;  // by index; empty without events
  std::uint64_t host_events = 0;      // of memory of the host, which carries no level
  DriverMemoryCalls driver;
};

// The timeline is cut into so many stretches of equal length; of each stand the first, the lowest, the highest and the
// last point of the allocated level, so that no peak is lost.
inline constexpr std::int64_t kMemoryStretches = 500;
std::vector<MemoryPoint> thinned(const std::vector<MemoryPoint>& points);

}  // namespace accel
