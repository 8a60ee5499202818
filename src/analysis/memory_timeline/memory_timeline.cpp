#include "analysis/memory_timeline.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>

#include "analysis/analysis.h"
#include "analysis/event_index.h"
#include "analysis/memory_timeline/block_lives.h"
#include "analysis/step_segmentation.h"

namespace accel {
namespace {

constexpr std::size_t kLargestBlocks = 20;
constexpr std::size_t kStepsForGrowth = 3;
// Requests below come from pools of small blocks: free memory of the large pool does not serve them.
constexpr std::int64_t kSmallRequest = std::int64_t{1} << 20;

// More than any device holds: such figures are damage, and sums of them would not fit.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 41;

bool plausible(std::int64_t bytes) { return bytes >= 0 && bytes <= kMostBytes; }

struct DeviceEvents {
  std::int64_t device = 0;
  std::vector<std::uint32_t> rows;  // by time
};

std::vector<DeviceEvents> by_device(const TraceStore& store, std::uint64_t& host_events) {
  const MemoryEventTable& events = store.memory_events;
  std::map<std::int64_t, std::vector<std::uint32_t>> rows;
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    if (events.bytes[i] == 0 || !plausible(std::abs(std::max(events.bytes[i], -kMostBytes - 1)))) continue;
    // Host memory is type 0 and device -1; a recording that states no type states the device.
    const bool host = events.device[i] < 0 || events.device_type[i] == 0;
    if (host) {
      ++host_events;
    } else {
      rows[events.device[i]].push_back(i);
    }
  }
  std::vector<DeviceEvents> devices;
  for (auto& [device, list] : rows) {
    std::stable_sort(list.begin(), list.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return events.time_ns[a] < events.time_ns[b]; });
    devices.push_back({device, std::move(list)});
  }
  return devices;
}

class DeviceView {
 public:
  DeviceView(const TraceStore& store, const StepSegmentation& steps, const PlacedEvents& placed, DeviceEvents events)
      : store_(store), steps_(steps), placed_(placed), rows_(std::move(events.rows)) {
    memory_.device = events.device;
    memory_.events = rows_.size();
    for (const DeviceProperties& properties : store.process.devices) {
      if (properties.index == events.device) memory_.total_bytes = properties.total_memory_bytes;
    }
    lives_ = block_lives(store, rows_);
  }

  DeviceMemory take() {
    churn();
    memory_.has_levels = std::all_of(rows_.begin(), rows_.end(), [&](std::uint32_t row) {
      return plausible(store_.memory_events.total_allocated[row]);
    });
    if (memory_.has_levels && !rows_.empty()) {
      levels();
      peak();
      growth();
      fragmentation();
    }
    return std::move(memory_);
  }

 private:
  MemoryPoint point(std::uint32_t row) const {
    const MemoryEventTable& events = store_.memory_events;
    const std::int64_t reserved = events.total_reserved[row];
    return {events.time_ns[row], events.total_allocated[row], plausible(reserved) ? reserved : kNotRecorded};
  }
  std::int32_t step_of(std::uint32_t row) const { return steps_.step_at(store_.memory_events.time_ns[row]); }
  bool in_complete_step(std::int32_t step) const {
    return step >= 0 && steps_.steps[static_cast<std::size_t>(step)].complete;
  }

  void churn();
  void levels();
  void peak();
  void categories(std::uint32_t peak_at);
  void growth();
  void fragmentation();

  const TraceStore& store_;
  const StepSegmentation& steps_;
  const PlacedEvents& placed_;
  std::vector<std::uint32_t> rows_;
  std::vector<BlockLife> lives_;
  DeviceMemory memory_;
};

void DeviceView::churn() {
  std::uint64_t count = 0;
  double bytes = 0;
  for (const std::uint32_t row : rows_) {
    if (store_.memory_events.bytes[row] <= 0 || !in_complete_step(step_of(row))) continue;
    ++count;
    bytes += static_cast<double>(store_.memory_events.bytes[row]);
  }
  if (steps_.complete_count > 0) {
    memory_.allocations_per_step = static_cast<double>(count) / steps_.complete_count;
    memory_.bytes_per_step = bytes / steps_.complete_count;
  }
  for (const BlockLife& life : lives_) memory_.freed_from_before += life.begin == BlockLife::kNone ? 1 : 0;
}

void DeviceView::levels() {
  std::vector<MemoryPoint> points;
  points.reserve(rows_.size());
  std::map<std::uint32_t, MemoryStep> steps;
  for (const std::uint32_t row : rows_) {
    const MemoryPoint at = point(row);
    points.push_back(at);
    memory_.reserved_peak = std::max(memory_.reserved_peak, at.reserved);
    const std::int32_t step = step_of(row);
    if (!in_complete_step(step)) continue;
    const auto index = static_cast<std::uint32_t>(step);
    const auto [entry, is_new] = steps.try_emplace(index, MemoryStep{index, at.allocated, at.allocated});
    entry->second.low = std::min(entry->second.low, at.allocated);
    entry->second.high = std::max(entry->second.high, at.allocated);
  }
  for (const auto& [index, step] : steps) memory_.steps.push_back(step);
  memory_.timeline = thinned(points);
}

void DeviceView::peak() {
  const auto highest = std::max_element(rows_.begin(), rows_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return store_.memory_events.total_allocated[a] < store_.memory_events.total_allocated[b];
  });
  MemoryPeak& peak = memory_.peak;
  peak.at = point(*highest);
  peak.step = step_of(*highest);
  peak.slice = placed_.places[*highest].slice;
  categories(static_cast<std::uint32_t>(highest - rows_.begin()));
}

// `peak_at` is the position of the peak's event in rows_: blocks of events up to it have begun.
void DeviceView::categories(std::uint32_t peak_at) {
  std::array<CategoryMemory, kMemoryCategoryCount> parts{};
  const auto part = [&](MemoryCategory c) -> CategoryMemory& { return parts[static_cast<std::size_t>(c)]; };
  const MemoryEventTable& events = store_.memory_events;
  std::int64_t persistent = events.total_allocated[rows_.front()] - events.bytes[rows_.front()];
  std::int64_t seen = 0;
  bool sees_gradients = false;
  for (const BlockLife& life : lives_) {
    const MemoryCategory category = category_of(store_, placed_, life);
    sees_gradients = sees_gradients || category == MemoryCategory::gradients;
    if (life.begin == BlockLife::kNone) persistent -= life.bytes;
    const bool begun = life.begin == BlockLife::kNone || life.begin_at <= peak_at;
    const bool ended = life.end != BlockLife::kNone && life.end_at <= peak_at;
    if (!begun || ended) continue;
    seen += life.bytes;
    CategoryMemory& entry = part(category);
    entry.bytes += life.bytes;
    ++entry.blocks;
    entry.basis = MemoryBasis::life;
    const bool before = life.begin == BlockLife::kNone;
    const std::uint32_t row = before ? life.end : life.begin;
    memory_.peak.largest.push_back({life.bytes, category, before ? kNotRecorded : events.time_ns[row],
                                    before ? -1 : step_of(row), placed_.places[row].slice, before});
  }
  std::stable_sort(memory_.peak.largest.begin(), memory_.peak.largest.end(),
                   [](const MemoryBlock& a, const MemoryBlock& b) { return a.bytes > b.bytes; });
  if (memory_.peak.largest.size() > kLargestBlocks) memory_.peak.largest.resize(kLargestBlocks);
  if (persistent < 0 || seen + persistent != memory_.peak.at.allocated) return;

  // What was there before the recording and stayed: parameters, then what the optimizer keeps of their size.
  std::int64_t rest = persistent;
  const auto claim = [&](MemoryCategory category, std::int64_t bytes, MemoryBasis basis) {
    if (bytes <= 0 || bytes > rest) return false;
    part(category).bytes += bytes;
    part(category).basis = basis;
    rest -= bytes;
    return true;
  };
  const std::int64_t parameters = placed_.phases.accumulated_bytes;
  if (claim(MemoryCategory::parameters, parameters, MemoryBasis::shapes)) {
    if (!sees_gradients) claim(MemoryCategory::gradients, parameters, MemoryBasis::shapes);
    if (placed_.phases.adam && part(MemoryCategory::optimizer_state).bytes == 0)
      claim(MemoryCategory::optimizer_state, 2 * parameters, MemoryBasis::assumed);
  }
  CategoryMemory& unknown = part(MemoryCategory::unknown);
  unknown.bytes += rest;
  if (unknown.bytes > 0) unknown.basis = MemoryBasis::rest;
  memory_.peak.categories = parts;
}

void DeviceView::growth() {
  const std::vector<MemoryStep>& steps = memory_.steps;
  if (steps.size() < kStepsForGrowth) return;
  MemoryGrowth growth;
  growth.steps = static_cast<std::uint32_t>(steps.size());
  std::vector<std::int64_t> changes;
  for (std::size_t i = 1; i < steps.size(); ++i) changes.push_back(steps[i].low - steps[i - 1].low);
  const auto rising = std::count_if(changes.begin(), changes.end(), [](std::int64_t change) { return change > 0; });
  growth.rising_share = static_cast<double>(rising) / static_cast<double>(changes.size());
  growth.total_bytes = steps.back().low - steps.front().low;
  std::sort(changes.begin(), changes.end());
  growth.bytes_per_step = changes[(changes.size() - 1) / 2];
  // Who keeps: the op name with the most bytes allocated in these steps, the last one left out, and never freed.
  std::map<StringId, std::pair<std::int64_t, SliceId>> kept;
  for (const BlockLife& life : lives_) {
    if (life.begin == BlockLife::kNone || life.end != BlockLife::kNone) continue;
    const std::int32_t step = step_of(life.begin);
    const SliceId slice = placed_.places[life.begin].slice;
    if (step < 0 || static_cast<std::uint32_t>(step) >= steps.back().step || !slice.valid()) continue;
    auto& [bytes, example] = kept[store_.slices.name[slice.value]];
    bytes += life.bytes;
    if (!example.valid()) example = slice;
  }
  for (const auto& [name, entry] : kept) {
    if (entry.first <= growth.slice_bytes_kept) continue;
    growth.slice_bytes_kept = entry.first;
    growth.slice = entry.second;
  }
  memory_.growth = growth;
}

void DeviceView::fragmentation() {
  MemoryFragmentation& result = memory_.fragmentation;
  if (memory_.peak.at.reserved != kNotRecorded)
    result.slack_at_peak = memory_.peak.at.reserved - memory_.peak.at.allocated;
  MemoryPoint before{0, 0, kNotRecorded};
  for (const std::uint32_t row : rows_) {
    const MemoryPoint at = point(row);
    if (at.reserved == kNotRecorded) continue;
    const bool in_step = in_complete_step(step_of(row));
    if (in_step) result.largest_slack = std::max(result.largest_slack, at.reserved - at.allocated);
    const std::int64_t asked = store_.memory_events.bytes[row];
    if (before.reserved != kNotRecorded && at.reserved > before.reserved && asked > 0) {
      ++result.driver_growth;
      const std::int64_t free = before.reserved - before.allocated;
      if (asked >= kSmallRequest && free >= asked) {
        ++result.forced;
        if (asked > result.forced_bytes) {
          result.forced_bytes = asked;
          result.forced_free_bytes = free;
          result.forced_time_ns = at.time_ns;
          result.forced_slice = placed_.places[row].slice;
        }
      }
    }
    before = at;
  }
}

DriverMemoryCalls driver_calls(const TraceStore& store, const EventIndex& index, const StepSegmentation& steps) {
  DriverMemoryCalls calls;
  calls.steps = steps.complete_count;
  if (calls.steps == 0) return calls;
  std::uint64_t allocations = 0;
  std::uint64_t releases = 0;
  for (std::uint32_t i = 0; i < store.slices.size(); ++i) {
    if (!store.is_call(SliceId(i)) || index.class_of(store, i) != NameClass::device_memory) continue;
    const std::int32_t step = steps.step_at(store.slices.start_ns[i]);
    if (step < 0 || !steps.steps[static_cast<std::size_t>(step)].complete) continue;
    const std::string_view name = store.text(store.slices.name[i]);
    const bool frees = name.find("Free") != std::string_view::npos || name.find("Unmap") != std::string_view::npos ||
                       name.find("Release") != std::string_view::npos;
    ++(frees ? releases : allocations);
    calls.host_ns += static_cast<double>(store.slices.dur_ns[i]);
  }
  calls.allocations = static_cast<double>(allocations) / calls.steps;
  calls.frees = static_cast<double>(releases) / calls.steps;
  calls.host_ns /= calls.steps;
  return calls;
}

Result<void> run(const TraceStore& store, AnalysisResults& results, const AnalysisOptions&) {
  auto timeline = std::make_shared<MemoryTimeline>();
  const EventIndex& index = *results.event_index;
  const StepSegmentation& steps = *results.step_segmentation;
  std::vector<DeviceEvents> devices = by_device(store, timeline->host_events);
  if (!devices.empty()) {
    const PlacedEvents placed = place_memory_events(store, index);
    for (DeviceEvents& events : devices)
      timeline->devices.push_back(DeviceView(store, steps, placed, std::move(events)).take());
  }
  timeline->driver = driver_calls(store, index, steps);
  results.memory_timeline = std::move(timeline);
  return {};
}

}  // namespace

std::string_view to_string(MemoryCategory category) {
  constexpr std::array<std::string_view, kMemoryCategoryCount> kNames = {"parameters",  "gradients", "optimizer_state",
                                                                         "activations", "workspace", "unknown"};
  return kNames[static_cast<std::size_t>(category)];
}

std::string_view to_string(MemoryBasis basis) {
  constexpr std::array<std::string_view, 5> kNames = {"none", "life", "shapes", "assumed", "rest"};
  return kNames[static_cast<std::size_t>(basis)];
}

std::vector<MemoryPoint> thinned(const std::vector<MemoryPoint>& points) {
  constexpr std::size_t kPointsOfStretch = 4;
  if (points.size() <= kPointsOfStretch * static_cast<std::size_t>(kMemoryStretches)) return points;
  // Unsigned: times of a damaged recording may lie further apart than a signed difference holds.
  const auto since_start = [&](const MemoryPoint& point) {
    return static_cast<std::uint64_t>(point.time_ns) - static_cast<std::uint64_t>(points.front().time_ns);
  };
  const std::uint64_t width = since_start(points.back()) / static_cast<std::uint64_t>(kMemoryStretches) + 1;
  std::vector<MemoryPoint> kept;
  for (std::size_t first = 0; first < points.size();) {
    const std::uint64_t stretch = since_start(points[first]) / width;
    std::size_t last = first;
    std::size_t low = first;
    std::size_t high = first;
    while (last + 1 < points.size() && since_start(points[last + 1]) / width == stretch) {
      ++last;
      if (points[last].allocated < points[low].allocated) low = last;
      if (points[last].allocated > points[high].allocated) high = last;
    }
    std::array<std::size_t, kPointsOfStretch> chosen = {first, low, high, last};
    std::sort(chosen.begin(), chosen.end());
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (i == 0 || chosen[i] != chosen[i - 1]) kept.push_back(points[chosen[i]]);
    }
    first = last + 1;
  }
  return kept;
}

AnalysisDescriptor describe_memory_timeline() {
  return {
      "memory_timeline",
      "Memory timeline",
      "显存时间线",
      {"event_index", "step_segmentation"},
      "Level of the framework's caching allocator on each device over time (allocated: in use by tensors; reserved: "
      "got from the driver), from its own events, with their own totals. The peak of the allocated level names the "
      "op around the allocation that reached it and the blocks alive then, by category: a block's category follows "
      "from where it was allocated and freed (forward, backward, optimizer step, zero_grad). Parameters are held "
      "since before the recording: their size is that of the gradients that autograd accumulates, from recorded "
      "shapes; the state of an Adam optimizer is assumed to be twice that. Bytes that none of this explains are "
      "unknown. Growth is the median change of the lowest level from one complete step to the next. Fragmentation "
      "is reserved less allocated, and allocations of 1 MiB or more for which the reserved memory had to grow "
      "although as much was reserved and free.",
      run};
}

}  // namespace accel
