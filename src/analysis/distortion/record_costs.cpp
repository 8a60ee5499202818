#include "analysis/distortion/record_costs.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/event_index.h"
#include "analysis/step_segmentation.h"

namespace accel {
namespace {

// An op that does nothing but call one other op (a view of a view, a detach) has for its own time one record of the
// recorder's and a dispatch. The lower tenth of those times is this host at its quickest, and the unit of a record's
// cost. A few cold ops say nothing. The duration of one view is no unit: most of a record's cost falls outside of its
// own interval.
constexpr double kWrappingQuantile = 0.1;
constexpr std::size_t kEnoughOps = 20;
// Costs below come from a fit to captures with a known truth on five hosts.
constexpr double kRecordCost = 0.7;
constexpr double kFrameCost = 0.15;
// A call into CUDA costs more: several of its inner calls are intercepted, and the device keeps a record too. How much
// shows in how long launches take: without a recorder one is over in about 4 us.
constexpr double kCallCost = 2.4;
constexpr double kPlainLaunchNs = 4'000;
// What lies between records goes slower too: the recorder's code and buffers push the job's out of the caches.
constexpr double kSlowing = 0.24;
// More calls than this many steps make had been numbered before the first one recorded: no warm-up is so long. The
// captures with a known history had 0 to 3 steps of calls, or over 100.
constexpr double kLongestWarmUp = 30;

// Own times of the ops of one thread that wrap exactly one op, which in turn wraps one or none, and so on: nothing else
// is recorded inside of them.
void collect_wrapping_times(const TraceStore& store, std::pair<std::uint32_t, std::uint32_t> range,
                            std::vector<std::int64_t>& times) {
  const SliceTable& slices = store.slices;
  constexpr std::uint32_t kOther = SliceId::kNone;  // more than one child, or a child that is no such op
  const std::uint32_t first = range.first;
  std::vector<std::uint32_t> children(range.second - first, 0);
  std::vector<std::uint32_t> child(range.second - first, 0);
  // Children come after their parents: from the back, every slice knows its children.
  for (std::uint32_t i = range.second; i-- > first;) {
    const std::uint32_t parent = slices.parent[i].value;
    const bool plain = slices.kind[i] == SliceKind::op && slices.flags[i] == 0 && children[i - first] <= 1;
    if (plain && children[i - first] == 1) times.push_back(slices.dur_ns[i] - slices.dur_ns[child[i - first]]);
    if (parent == SliceId::kNone) continue;
    std::uint32_t& count = children[parent - first];
    count = plain && count == 0 ? 1 : kOther;
    child[parent - first] = i;
  }
}

std::optional<double> measure_unit_ns(const TraceStore& store, const EventIndex& index) {
  std::vector<std::int64_t> times;
  for (const ThreadIndex thread : index.launching_threads)
    collect_wrapping_times(store, store.thread_ranges[thread.value], times);
  if (times.size() < kEnoughOps) return std::nullopt;
  const auto at = times.begin() + static_cast<std::ptrdiff_t>(kWrappingQuantile * static_cast<double>(times.size()));
  std::nth_element(times.begin(), at, times.end());
  return *at > 0 ? std::optional(static_cast<double>(*at)) : std::nullopt;
}

// What one call costs more for being recorded, from the median launch.
double measure_call_cost_ns(const TraceStore& store, const EventIndex& index) {
  std::vector<std::int64_t> launches;
  for (const ThreadIndex thread : index.launching_threads) {
    const auto [first, last] = store.thread_ranges[thread.value];
    for (std::uint32_t i = first; i < last; ++i) {
      if (store.is_call(SliceId(i)) && index.class_of(store, i) == NameClass::kernel_launch)
        launches.push_back(store.slices.dur_ns[i]);
    }
  }
  if (launches.empty()) return 0;
  const auto middle = launches.begin() + static_cast<std::ptrdiff_t>(launches.size() / 2);
  std::nth_element(launches.begin(), middle, launches.end());
  return kCallCost * std::max(0.0, static_cast<double>(*middle) - kPlainLaunchNs);
}

}  // namespace

bool recorded_before(const TraceStore& store, const StepSegmentation& segmentation) {
  double first = 0;
  double last = 0;
  for (const std::int64_t id : store.call_details.correlation) {
    if (id == kNotRecorded || id <= 0) continue;
    const auto number = static_cast<double>(id);
    first = first == 0 ? number : std::min(first, number);
    last = std::max(last, number);
  }
  if (last <= first || segmentation.steps.empty()) return false;
  // The recorder may have been on since the step that it counts as 0.
  const double steps_before =
      kLongestWarmUp + static_cast<double>(std::max<std::int64_t>(0, segmentation.steps.front().number));
  return first > steps_before * (last - first + 1) / static_cast<double>(segmentation.steps.size());
}

std::optional<RecordingCost> measure_recording_cost(const TraceStore& store, const EventIndex& index) {
  const std::optional<double> unit_ns = measure_unit_ns(store, index);
  if (!unit_ns) return std::nullopt;
  return RecordingCost{kRecordCost * *unit_ns, measure_call_cost_ns(store, index), kFrameCost * *unit_ns, kSlowing};
}

}  // namespace accel
