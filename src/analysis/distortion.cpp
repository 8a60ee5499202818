#include "analysis/distortion.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/audit.h"
#include "analysis/device_timeline.h"
#include "analysis/event_index.h"
#include "analysis/step_graph/replay.h"
#include "analysis/step_graph/undisturbed.h"
#include "analysis/step_segmentation.h"

namespace accel {
namespace {

// An op that does nothing but call one other op (a view of a view, a detach) has for its own time one record of the
// recorder's and a dispatch. The lower tenth of those times is this host at its quickest, and the unit of the costs
// below, which come from the H200 captures with a known truth (docs/design/distortion.md). A few cold ops say nothing.
// The duration of one view is no unit: most of a record's cost falls outside of its own interval.
constexpr double kWrappingQuantile = 0.1;
constexpr double kRecordCost = 1.5;
// A call into CUDA costs more: several of its inner calls are intercepted, and the device keeps a record too. How much
// shows in how long launches take: without a recorder one is over in about 4 us.
constexpr double kCallCost = 4.0;
constexpr double kPlainLaunchNs = 4'000;
constexpr double kFrameCost = 0.5;
constexpr std::size_t kEnoughOps = 20;
// The truth lies within these shares of the cost for about nine of ten captures with a known truth.
constexpr double kLowCostShare = 1.3;
constexpr double kHighCostShare = 0.5;
// ... and no run of a job is better known than within these shares of its step.
constexpr double kLowStepShare = 0.9;
constexpr double kHighStepShare = 1.1;
// Ranks that talk over the host were up to 11 % slower without the recorder than with it.
constexpr double kHostCommunicationShare = 1.12;

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

// The unit of the recorder's costs on this host; nothing when the capture holds too few ops to measure it.
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

// Rows of a thread that start in [start, end).
std::pair<std::uint32_t, std::uint32_t> rows_in(const TraceStore& store, std::pair<std::uint32_t, std::uint32_t> range,
                                                Interval time) {
  const auto begin = store.slices.start_ns.begin();
  const auto from = std::lower_bound(begin + range.first, begin + range.second, time.start_ns);
  const auto to = std::lower_bound(from, begin + range.second, time.end_ns);
  return {static_cast<std::uint32_t>(from - begin), static_cast<std::uint32_t>(to - begin)};
}

// Records that start in complete steps, on every thread.
void count_records(const TraceStore& store, const EventIndex& index, const StepSegmentation& segmentation,
                   Distortion& distortion) {
  if (segmentation.complete_count == 0) return;
  std::uint64_t records = 0;
  std::uint64_t calls = 0;
  std::uint64_t frames = 0;
  std::int64_t overhead = 0;
  for (const auto& window : segmentation.host_windows()) {
    for (const auto& range : store.thread_ranges) {
      const auto [first, last] = rows_in(store, range, window.time);
      for (std::uint32_t i = first; i < last; ++i) {
        const SliceKind kind = store.slices.kind[i];
        if (kind == SliceKind::frame) {
          ++frames;
        } else if (store.is_call(SliceId(i))) {
          ++calls;
        } else if (kind == SliceKind::overhead) {
          if (index.class_of(store, i) == NameClass::recorder_overhead) overhead += store.slices.dur_ns[i];
        } else {
          ++records;
        }
      }
    }
  }
  const double steps = segmentation.complete_count;
  distortion.records_per_step = static_cast<double>(records) / steps;
  distortion.calls_per_step = static_cast<double>(calls) / steps;
  distortion.frames_per_step = static_cast<double>(frames) / steps;
  distortion.overhead_rows_ns_per_step = static_cast<double>(overhead) / steps;
}

// What the busiest device has to do in a step: its own work, or, if `with_others`, what it did meanwhile where that is
// more (work of steps before the window).
double busy_per_step(const StepSegmentation& segmentation, const DeviceTimeline& timeline, bool with_others = true) {
  double most = 0;
  for (std::size_t d = 0; d < segmentation.devices.size(); ++d) {
    const DeviceSteps& device = segmentation.devices[d];
    double assigned = 0;
    double meanwhile = 0;
    for (const auto& window : segmentation.host_windows()) {
      assigned += static_cast<double>(device.steps[window.step].assigned_busy_ns);
      meanwhile += static_cast<double>(timeline.devices[d].busy.clipped(window.time).total_ns());
    }
    most = std::max({most, assigned, with_others ? meanwhile : 0});
  }
  return most / std::max(1U, segmentation.complete_count);
}

void set_band(Distortion& distortion, double low, double high) {
  distortion.undisturbed_low_ns = std::clamp(low, 0.0, distortion.undisturbed_step_ns);
  distortion.undisturbed_high_ns = std::max(high, distortion.undisturbed_step_ns);
}

// The device's own period is the step, whatever the host records. Waiting inside communication may be for a rank that
// its own recording made late, and gaps between the kernels of a graph replay may be the recorder's.
void estimate_from_device(const StepSegmentation& segmentation, const DeviceTimeline& timeline,
                          Distortion& distortion) {
  double communication = 0;
  double busy = 0;
  for (const auto& device : timeline.devices) {
    if (device.device != segmentation.pacing_device) continue;
    const auto windows = segmentation.device_windows(device.device);
    for (const auto& window : windows) {
      communication += static_cast<double>(device.communication_exposed.clipped(window.time).total_ns());
      busy += static_cast<double>(device.busy.clipped(window.time).total_ns());
    }
    communication /= static_cast<double>(std::max<std::size_t>(1, windows.size()));
    busy /= static_cast<double>(std::max<std::size_t>(1, windows.size()));
  }
  const double step = segmentation.step_mean_ns;
  distortion.model = "device period: the device sets the pace, the recording delays only a host that is ahead";
  set_band(distortion, std::min(0.95 * step, busy) - communication, 1.06 * step);
}

struct Inputs {
  const TraceStore& store;
  const EventIndex& index;
  const DeviceTimeline& timeline;
  const StepSegmentation& segmentation;
  const StepGraph& graph;
  bool coarse_clock;
};

void leave_unknown(const Inputs& in, const char* why, Distortion& distortion, NoteList& notes) {
  distortion.model = std::string("unknown: ") + why;
  set_band(distortion, std::max(busy_per_step(in.segmentation, in.timeline), 0.35 * in.segmentation.step_mean_ns),
           in.segmentation.step_mean_ns);
  if (distortion.records_per_step > 0) notes.add(NoteCode::distortion_unknown, 1, {}, why);
}

void set_costs(const Inputs& in, double unit_ns, Distortion& distortion) {
  distortion.record_cost_ns = kRecordCost * unit_ns;
  distortion.call_cost_ns = measure_call_cost_ns(in.store, in.index);
  distortion.frame_cost_ns = kFrameCost * unit_ns;
}

void estimate_from_host(const Inputs& in, double unit_ns, Distortion& distortion) {
  set_costs(in, unit_ns, distortion);
  const double host = in.segmentation.host_mean_ns;
  const double busy = busy_per_step(in.segmentation, in.timeline);
  const double unchanged = replay(in.graph).step_ns;
  // What the replay of the recorded step misses, the replay without the recording misses likewise.
  const auto step_without = [&](double share) {
    const double step = replay(without_recording(in.graph, recording_cost(distortion, share))).step_ns;
    return unchanged > 0 ? step * host / unchanged : host;
  };
  distortion.model =
      "replay of the step without the host time that each record costs; the cost comes from the small ops and the "
      "launches of this capture";
  distortion.undisturbed_step_ns = std::min(in.segmentation.step_mean_ns, std::max(busy, step_without(1)));
  distortion.cost_ns_per_step = in.segmentation.step_mean_ns - distortion.undisturbed_step_ns;
  const double low = std::min(step_without(kLowCostShare), kLowStepShare * distortion.undisturbed_step_ns);
  double high = std::max(step_without(kHighCostShare), kHighStepShare * distortion.undisturbed_step_ns);
  if (!in.index.communicating_threads.empty()) high = std::max(high, kHostCommunicationShare * host);
  set_band(distortion, std::max(0.97 * busy_per_step(in.segmentation, in.timeline, false), low), high);
}

Result<void> run(const TraceStore& store, AnalysisResults& results, const AnalysisOptions&) {
  auto distortion = std::make_shared<Distortion>();
  const Inputs in{store,
                  *results.event_index,
                  *results.device_timeline,
                  *results.step_segmentation,
                  *results.step_graph,
                  results.audit->coarse_clock};
  const StepSegmentation& segmentation = in.segmentation;
  count_records(store, in.index, segmentation, *distortion);
  distortion->measured_step_ns = segmentation.step_mean_ns;
  distortion->undisturbed_step_ns = segmentation.step_mean_ns;
  const std::optional<double> unit_ns = measure_unit_ns(store, in.index);
  if (segmentation.paced_by == PacedBy::device) {
    estimate_from_device(segmentation, in.timeline, *distortion);
    if (unit_ns && !in.coarse_clock) set_costs(in, *unit_ns, *distortion);
  } else if (segmentation.paced_by == PacedBy::unknown) {
    leave_unknown(in, "no complete step", *distortion, results.notes);
  } else if (store.device_events.empty()) {
    leave_unknown(in, "the cost of a record was calibrated on captures of device work", *distortion, results.notes);
  } else if (in.coarse_clock) {
    leave_unknown(in, "times are whole microseconds, too coarse for the cost of a record", *distortion, results.notes);
  } else if (!unit_ns) {
    leave_unknown(in, "the capture holds too few small ops to tell what a record costs", *distortion, results.notes);
  } else {
    estimate_from_host(in, *unit_ns, *distortion);
  }
  results.distortion = std::move(distortion);
  return {};
}

}  // namespace

RecordingCost recording_cost(const Distortion& distortion, double share) {
  return {share * distortion.record_cost_ns.value_or(0), share * distortion.call_cost_ns.value_or(0),
          share * distortion.frame_cost_ns.value_or(0)};
}

AnalysisDescriptor describe_distortion() {
  return {
      "distortion",
      "Distortion",
      "记录失真",
      {"event_index", "device_timeline", "step_segmentation", "audit", "step_graph"},
      "What the recording cost and how long the step would take without it. Device sets the pace: the device period. "
      "Host: the step graph is replayed without the host time that its records cost, so that what the host then waits "
      "longer for is not won. The cost comes from this capture: of a record, from the own time of ops that only wrap "
      "another op; of a call, from how long launches take; without enough of those ops, without device work or with a "
      "clock of whole microseconds it is unknown.",
      run};
}

}  // namespace accel
