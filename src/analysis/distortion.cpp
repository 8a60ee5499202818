#include "analysis/distortion.h"

#include <algorithm>
#include <optional>
#include <string>

#include "analysis/analysis.h"
#include "analysis/device_timeline.h"
#include "analysis/event_index.h"
#include "analysis/step_segmentation.h"

namespace accel {
namespace {

// Small ops whose time under the recorder is mostly the recorder's, the better yardstick first, and the cost of one record
// as a share of their median. On 14 host-paced H200 captures with a known truth the cost per record is 0.63 to 0.94 of
// aten::empty's median and 0.48 to 1.1 of aten::t's (which records two views inside); the ratio to a single view, about
// 5, is no yardstick: most of a record's cost falls outside of its own interval.
struct Yardstick {
  std::string_view op;
  double cost_share;
};
constexpr Yardstick kYardsticks[] = {{"aten::empty", 0.82}, {"aten::empty_strided", 0.75}, {"aten::t", 0.75}};
constexpr std::size_t kEnoughTinyOps = 20;

// Cost of one record on this host; nothing when the capture holds too few ops to measure it.
std::optional<double> measure_record_cost(const TraceStore& store, const EventIndex& index) {
  std::vector<std::int64_t> durations;
  for (const Yardstick& yardstick : kYardsticks) {
    const StringId name = store.strings.find(yardstick.op);
    if (!name.valid()) continue;
    durations.clear();
    for (const ThreadIndex thread : index.launching_threads) {
      const auto [first, last] = store.thread_ranges[thread.value];
      for (std::uint32_t i = first; i < last; ++i) {
        if (store.slices.kind[i] == SliceKind::op && store.slices.name[i] == name) durations.push_back(store.slices.dur_ns[i]);
      }
    }
    if (durations.size() < kEnoughTinyOps) continue;
    const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
    std::nth_element(durations.begin(), middle, durations.end());
    if (*middle > 0) return yardstick.cost_share * static_cast<double>(*middle);
  }
  return std::nullopt;
}

// Records that start in complete steps, of all threads that record ops.
void count_records(const TraceStore& store, const EventIndex& index, const StepSegmentation& segmentation, Distortion& distortion) {
  if (segmentation.complete_count == 0) return;
  std::uint64_t records = 0;
  std::uint64_t frames = 0;
  std::int64_t overhead = 0;
  for (std::uint32_t i = 0; i < store.slices.size(); ++i) {
    const std::int32_t step = segmentation.step_at(store.slices.start_ns[i]);
    if (step < 0 || !segmentation.steps[step].complete) continue;
    const SliceKind kind = store.slices.kind[i];
    if (kind == SliceKind::frame) {
      ++frames;
    } else if (kind == SliceKind::overhead) {
      if (index.class_of(store, i) == NameClass::recorder_overhead) overhead += store.slices.dur_ns[i];
    } else {
      ++records;
    }
  }
  const double steps = segmentation.complete_count;
  distortion.records_per_step = static_cast<double>(records) / steps;
  distortion.frames_per_step = static_cast<double>(frames) / steps;
  distortion.overhead_rows_ns_per_step = static_cast<double>(overhead) / steps;
}

double busy_per_step(const StepSegmentation& segmentation) {
  double most = 0;
  for (const DeviceSteps& device : segmentation.devices) {
    double busy = 0;
    for (std::size_t k = 0; k < device.steps.size(); ++k) {
      if (segmentation.steps[k].complete) busy += static_cast<double>(device.steps[k].assigned_busy_ns);
    }
    most = std::max(most, busy / std::max(1U, segmentation.complete_count));
  }
  return most;
}

void set_band(Distortion& distortion, double low, double high) {
  distortion.undisturbed_low_ns = std::clamp(low, 0.0, distortion.undisturbed_step_ns);
  distortion.undisturbed_high_ns = std::max(high, distortion.undisturbed_step_ns);
}

void estimate(const StepSegmentation& segmentation, std::optional<double> record_cost, Distortion& distortion, NoteList& notes) {
  constexpr double kFrameShare = 0.2;
  const double busy = busy_per_step(segmentation);
  distortion.measured_step_ns = segmentation.step_mean_ns;
  distortion.undisturbed_step_ns = segmentation.step_mean_ns;
  if (segmentation.paced_by == PacedBy::device) {
    distortion.model = "device period: the device sets the pace, the recording delays only a host that waits anyway";
    set_band(distortion, 0.85 * segmentation.step_mean_ns, 1.1 * segmentation.step_mean_ns);
    return;
  }
  if (!record_cost || segmentation.paced_by == PacedBy::unknown) {
    distortion.model = "unknown: the capture holds too few tiny ops to tell what a record costs";
    set_band(distortion, std::max(busy, 0.35 * segmentation.step_mean_ns), segmentation.step_mean_ns);
    notes.add(NoteCode::distortion_unknown);
    return;
  }
  distortion.record_cost_ns = record_cost;
  distortion.frame_cost_ns = kFrameShare * *distortion.record_cost_ns;
  const double cost = distortion.records_per_step * *distortion.record_cost_ns + distortion.frames_per_step * *distortion.frame_cost_ns;
  distortion.model = "host step less a cost per record, never below the device's busy time; the cost comes from the small ops of this capture";
  distortion.undisturbed_step_ns = std::min(segmentation.step_mean_ns, std::max(busy, segmentation.host_mean_ns - cost));
  distortion.cost_ns_per_step = segmentation.step_mean_ns - distortion.undisturbed_step_ns;
  set_band(distortion, std::max(busy, segmentation.host_mean_ns - 1.3 * cost), segmentation.host_mean_ns - 0.6 * cost);
}

Result<void> run(const TraceStore& store, AnalysisResults& results, const AnalysisOptions&) {
  auto distortion = std::make_shared<Distortion>();
  const EventIndex& index = *results.event_index;
  const StepSegmentation& segmentation = *results.step_segmentation;
  count_records(store, index, segmentation, *distortion);
  estimate(segmentation, measure_record_cost(store, index), *distortion, results.notes);
  results.distortion = std::move(distortion);
  return {};
}

}  // namespace

AnalysisDescriptor describe_distortion() {
  return {"distortion", "Distortion", "记录失真", {"event_index", "step_segmentation"},
          "What the recording cost and how long the step would take without it. Device sets the pace: the device period. Host: its "
          "interval less a cost per record, never below the device's busy time. The cost per record is found from this capture, "
          "from the duration of small ops such as aten::empty; without enough of them it is unknown.",
          run};
}

}  // namespace accel
