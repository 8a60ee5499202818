// Device memory.
#include <algorithm>

#include "analysis/memory_timeline.h"
#include "analysis/step_segmentation.h"
#include "diagnosis/source_location.h"
#include "report/build_parts.h"

namespace accel::report {
namespace {

constexpr std::size_t kSteps = 1000;

class MemoryBuilder {
 public:
  explicit MemoryBuilder(Build& build) : build_(build), steps_(*build.results.step_segmentation) {}

  MemoryDevice device(const DeviceMemory& memory) {
    MemoryDevice entry;
    entry.device = memory.device;
    entry.total_bytes = recorded(memory.total_bytes);
    if (steps_.complete_count > 0) {
      entry.allocations_per_step = number(memory.allocations_per_step);
      entry.allocated_bytes_per_step = number(memory.bytes_per_step);
    }
    entry.freed_from_before = memory.freed_from_before;
    if (!memory.has_levels) return entry;
    entry.peak = peak(memory.peak);
    entry.reserved_peak_bytes = recorded(memory.reserved_peak);
    for (const accel::MemoryStep& step : memory.steps)
      entry.steps.push_back({steps_.steps[step.step].number, step.low, step.high});
    build_.cap(entry.steps, kSteps, "memory.devices[].steps");
    if (memory.growth) {
      entry.growth = MemoryGrowth{memory.growth->steps, memory.growth->bytes_per_step, memory.growth->total_bytes,
                                  number_or(memory.growth->rising_share, 0)};
    }
    if (entry.reserved_peak_bytes) entry.fragmentation = fragmentation(memory);
    for (const MemoryPoint& point : memory.timeline) {
      entry.timeline.time_ns.push_back(since_origin(point.time_ns));
      entry.timeline.allocated_bytes.push_back(point.allocated);
      if (entry.reserved_peak_bytes) entry.timeline.reserved_bytes.push_back(std::max<std::int64_t>(point.reserved, 0));
    }
    return entry;
  }

 private:
  static Integer recorded(std::int64_t value) { return value == kNotRecorded ? Integer{} : Integer{value}; }
  std::int64_t since_origin(std::int64_t time_ns) const { return time_ns - build_.store.time_range.start_ns; }
  Integer step_number(std::int32_t step) const {
    return step < 0 ? Integer{} : Integer{steps_.steps[static_cast<std::size_t>(step)].number};
  }
  std::optional<Location> place(SliceId slice) const {
    if (!slice.valid()) return std::nullopt;
    // The op says more than what is inside it; a gap between ops is the range's.
    const SliceId op = build_.store.enclosing_op(slice);
    return location_entry(locate(build_.store, op.valid() ? op : slice));
  }

  MemoryPeak peak(const accel::MemoryPeak& peak) const {
    MemoryPeak entry;
    entry.time_ns = since_origin(peak.at.time_ns);
    entry.step = step_number(peak.step);
    entry.allocated_bytes = peak.at.allocated;
    entry.reserved_bytes = recorded(peak.at.reserved);
    entry.where = place(peak.slice);
    if (peak.categories) {
      std::size_t at = 0;
      entry.categories.emplace();
      MemoryCategories::fields(*entry.categories, [&](std::string_view, MemoryCategory& category, std::string_view) {
        const CategoryMemory& part = (*peak.categories)[at++];
        category = {part.bytes, part.blocks, to_string(part.basis)};
      });
    }
    for (const accel::MemoryBlock& block : peak.largest) {
      entry.largest.push_back({block.bytes, to_string(block.category),
                               block.from_before ? Integer{} : Integer{since_origin(block.time_ns)},
                               step_number(block.step), place(block.slice)});
    }
    return entry;
  }

  MemoryFragmentation fragmentation(const DeviceMemory& memory) const {
    const accel::MemoryFragmentation& from = memory.fragmentation;
    MemoryFragmentation entry;
    if (memory.peak.at.reserved > 0) {
      entry.slack_at_peak_bytes = from.slack_at_peak;
      entry.slack_at_peak_share =
          number(static_cast<double>(from.slack_at_peak) / static_cast<double>(memory.peak.at.reserved));
    }
    if (!memory.steps.empty()) entry.largest_slack_bytes = from.largest_slack;
    entry.driver_growth = from.driver_growth;
    entry.forced = from.forced;
    if (from.forced > 0) {
      entry.forced_bytes = from.forced_bytes;
      entry.forced_free_bytes = from.forced_free_bytes;
      entry.forced_where = place(from.forced_slice);
    }
    return entry;
  }

  Build& build_;
  const StepSegmentation& steps_;
};

}  // namespace

void build_memory(Build& build) {
  auto& reasons = build.reasons;
  const char* no_events = "the recording holds no events of the allocator; record with profile_memory=True";
  reasons["memory"] = no_events;
  reasons["memory.driver"] = "the capture holds no complete step";
  reasons["memory.devices[]"] = "the allocator's events do not carry its totals; record with PyTorch 1.13 or later";
  reasons["memory.devices[].total_bytes"] = "the input does not state it";
  reasons["memory.devices[].allocations_per_step"] = "the capture holds no complete step";
  reasons["memory.devices[].allocated_bytes_per_step"] = "the capture holds no complete step";
  reasons["memory.devices[].growth"] = "fewer than 3 complete steps with events of the allocator";
  reasons["memory.devices[].peak.categories"] = "the allocator's events do not add up to the total that they state";
  reasons["memory.devices[].peak.step"] = "outside every step";
  reasons["memory.devices[].peak.where"] = "no op or range was open on that thread";
  for (const char* path : {"memory.devices[].peak.where.file", "memory.devices[].peak.where.line",
                           "memory.devices[].peak.largest[].where.file", "memory.devices[].peak.largest[].where.line"})
    reasons[path] = "the input does not say where in the source; record with with_stack=True";
  for (const char* path :
       {"memory.devices[].peak.where.rank", "memory.devices[].peak.where.host", "memory.devices[].peak.where.device",
        "memory.devices[].peak.largest[].where.rank", "memory.devices[].peak.largest[].where.host",
        "memory.devices[].peak.largest[].where.device"})
    reasons[path] = "the same as that of the part around it";
  reasons["memory.devices[].peak.largest[]"] = "allocated before the recording";
  reasons["memory.devices[].peak.largest[].where"] = "no op or range was open on that thread";
  reasons["memory.devices[].fragmentation.forced_bytes"] = "there was none";
  reasons["memory.devices[].fragmentation.forced_free_bytes"] = "there was none";
  reasons["memory.devices[].fragmentation.forced_where"] = "there was none";
  if (!build.results.memory_timeline || !build.results.step_segmentation) return;
  const MemoryTimeline& timeline = *build.results.memory_timeline;
  Memory& memory = build.document.memory;
  if (timeline.driver.steps > 0) {
    memory.driver = {number(timeline.driver.allocations), number(timeline.driver.frees),
                     number(timeline.driver.host_ns / 1e6)};
  }
  MemoryBuilder builder(build);
  for (const DeviceMemory& device : timeline.devices) {
    MemoryDevice entry = builder.device(device);
    if (entry.peak) memory.peak_bytes = std::max(memory.peak_bytes.value_or(0), entry.peak->allocated_bytes);
    if (entry.reserved_peak_bytes)
      memory.reserved_peak_bytes = std::max(memory.reserved_peak_bytes.value_or(0), *entry.reserved_peak_bytes);
    memory.devices.push_back(std::move(entry));
  }
}

}  // namespace accel::report
