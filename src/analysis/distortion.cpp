#include "analysis/distortion.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/audit.h"
#include "analysis/device_timeline.h"
#include "analysis/distortion/record_costs.h"
#include "analysis/event_index.h"
#include "analysis/step_graph/replay.h"
#include "analysis/step_graph/undisturbed.h"
#include "analysis/step_segmentation.h"
#include "trace/processor.h"

namespace accel {
namespace {

// Shares of the cost: the truth lies between them for nine of ten captures with a known truth.
constexpr double kMostCostShare = 1.35;
constexpr double kLeastCostShare = 0.6;
// No run of a job is better known than within these shares of its step.
constexpr double kLowStepShare = 0.9;
constexpr double kHighStepShare = 1.1;
// Ranks that talk over the host were up to 11 % slower without the recorder than with it.
constexpr double kHostCommunicationShare = 1.12;

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

RecordingCost scaled(const RecordingCost& cost, double share) {
  return {share * cost.record_ns, share * cost.call_ns, share * cost.frame_ns, std::min(1.0, share * cost.slowing),
          std::min(1.0, share * cost.unrest)};
}

void set_costs(const RecordingCost& cost, Distortion& distortion) {
  distortion.record_cost_ns = cost.record_ns;
  // Calls that cost as much without this recording are no cost of it.
  distortion.call_cost_ns = distortion.recorded_before ? 0 : cost.call_ns;
  distortion.most_call_cost_ns = cost.call_ns;
  distortion.frame_cost_ns = cost.frame_ns;
  distortion.slowing = cost.slowing;
}

void estimate_from_host(const Inputs& in, const RecordingCost& cost, Distortion& distortion) {
  set_costs(cost, distortion);
  const double host = in.segmentation.host_mean_ns;
  // What a device does takes as long without the recording; the ops of a processor are host time, with records inside.
  const bool on_processor = runs_on_processor(in.store);
  const double busy = on_processor ? 0 : busy_per_step(in.segmentation, in.timeline);
  const double unchanged = replay(in.graph).step_ns;
  // What the replay of the recorded step misses, the replay without the recording misses likewise.
  const auto step_without = [&](const RecordingCost& taken) {
    const double step = replay(without_recording(in.graph, taken)).step_ns;
    return unchanged > 0 ? step * host / unchanged : host;
  };
  distortion.model =
      "replay of the step without the host time that each record costs and makes other work take longer, at the pace "
      "that the host has in most steps; the cost comes from the small ops and the launches of this capture";
  if (distortion.recorded_before)
    distortion.model += "; calls cost as much without it, since the process had been recorded before";
  distortion.undisturbed_step_ns =
      std::min(in.segmentation.step_mean_ns, std::max(busy, step_without(recording_cost(distortion))));
  distortion.cost_ns_per_step = in.segmentation.step_mean_ns - distortion.undisturbed_step_ns;
  const double low =
      std::min(step_without(most_recording_cost(distortion)), kLowStepShare * distortion.undisturbed_step_ns);
  double high =
      std::max(step_without(least_recording_cost(distortion)), kHighStepShare * distortion.undisturbed_step_ns);
  if (!in.index.communicating_threads.empty()) high = std::max(high, kHostCommunicationShare * host);
  const double least = on_processor ? 0 : 0.97 * busy_per_step(in.segmentation, in.timeline, false);
  set_band(distortion, std::max(least, low), high);
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
  const std::optional<RecordingCost> cost = measure_recording_cost(store, in.index);
  distortion->recorded_before = recorded_before(store, segmentation);
  if (segmentation.paced_by == PacedBy::device) {
    estimate_from_device(segmentation, in.timeline, *distortion);
    if (cost && !in.coarse_clock) set_costs(*cost, *distortion);
  } else if (segmentation.paced_by == PacedBy::unknown) {
    leave_unknown(in, "no complete step", *distortion, results.notes);
  } else if (store.device_events.empty()) {
    leave_unknown(in, "the cost of a record was calibrated on captures of device work", *distortion, results.notes);
  } else if (in.coarse_clock) {
    leave_unknown(in, "times are whole microseconds, too coarse for the cost of a record", *distortion, results.notes);
  } else if (!cost) {
    leave_unknown(in, "the capture holds too few small ops to tell what a record costs", *distortion, results.notes);
  } else {
    estimate_from_host(in, *cost, *distortion);
  }
  results.distortion = std::move(distortion);
  return {};
}

}  // namespace

RecordingCost recording_cost(const Distortion& distortion) {
  return {distortion.record_cost_ns.value_or(0), distortion.call_cost_ns.value_or(0),
          distortion.frame_cost_ns.value_or(0), distortion.slowing.value_or(0), distortion.slowing ? 1.0 : 0.0};
}

RecordingCost least_recording_cost(const Distortion& distortion) {
  return scaled(recording_cost(distortion), kLeastCostShare);
}

RecordingCost most_recording_cost(const Distortion& distortion) {
  RecordingCost cost = recording_cost(distortion);
  if (distortion.call_cost_ns) cost.call_ns = distortion.most_call_cost_ns;
  return scaled(cost, kMostCostShare);
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
      "another op; of a call, from how long launches take; and everything between records goes slower by a share. A "
      "step whose short stretches all take longer than in the others is brought to the pace of most; "
      "without enough of those ops, without device work or with a "
      "clock of whole microseconds it is unknown.",
      run};
}

}  // namespace accel
