#include "diagnosis/step_view.h"

#include <algorithm>

#include "analysis/analysis.h"
#include "analysis/audit.h"
#include "analysis/distortion.h"
#include "analysis/time_breakdown.h"

namespace accel {
namespace {

// A step estimate whose band is wider than this share of it is named as a doubt.
constexpr double kWideBand = 0.5;
constexpr double kIdleThatMatters = 0.05;

StepParts mean_of(const TimeParts& parts, std::uint32_t count) {
  StepParts mean;
  const double n = count > 0 ? count : 1;
  mean.window_ns = static_cast<double>(parts.window_ns) / n;
  mean.compute_ns = static_cast<double>(parts.compute_ns) / n;
  mean.memory_exposed_ns = static_cast<double>(parts.memory_exposed_ns) / n;
  mean.communication_exposed_ns = static_cast<double>(parts.communication_exposed_ns) / n;
  mean.communication_overlapped_ns = static_cast<double>(parts.communication_overlapped_ns) / n;
  mean.idle_ns = static_cast<double>(parts.idle_ns) / n;
  for (std::size_t i = 0; i < kIdleCauseCount; ++i)
    mean.idle_by_cause[i] = static_cast<double>(parts.idle_causes[i]) / n;
  return mean;
}

double busy_of(const TimeParts& parts) {
  return static_cast<double>(parts.compute_ns + parts.memory_exposed_ns + parts.communication_exposed_ns);
}

const DeviceBreakdown* busiest(const TimeBreakdown& breakdown) {
  const DeviceBreakdown* best = nullptr;
  for (const DeviceBreakdown& candidate : breakdown.devices) {
    if (candidate.count == 0 || candidate.measured.window_ns <= 0) continue;
    if (best == nullptr || busy_of(candidate.measured) > busy_of(best->measured)) best = &candidate;
  }
  return best;
}

void set_unit(StepView& view, StepSource source, bool training) {
  const bool whole = source == StepSource::whole_window;
  view.training = training;
  view.unit = whole ? "recorded window" : training ? "step" : "iteration";
  view.a_unit = whole ? "a recorded window" : training ? "a step" : "an iteration";
}

void add_note_doubt(StepView& view, const NoteList& notes, NoteCode code, double factor) {
  if (const Note* note = notes.find(code)) {
    view.doubts.push_back({std::string(describe(code).message), static_cast<double>(note->count), "count", factor});
  }
}

void add_doubts(StepView& view, const TraceStore& store, const AnalysisResults& results) {
  // What the recording cost matters where the device waited for the host; a device that never waits keeps its pace.
  const bool idle_matters =
      view.paced_by != PacedBy::device && view.measured.idle_ns > kIdleThatMatters * view.measured.window_ns;
  if (!view.distortion_known && idle_matters) {
    view.doubts.push_back({"what the recording cost is not known: the figures are those of the recorded " +
                               std::string(view.unit) + ", of",
                           view.measured.window_ns / 1e6, "ms", 0.5});
  } else if (view.distortion_known && view.step_ns > 0 &&
             (view.step_high_ns - view.step_low_ns) / view.step_ns > kWideBand) {
    view.doubts.push_back({"the band of the undisturbed " + std::string(view.unit) + " is wide: its width is",
                           100 * (view.step_high_ns - view.step_low_ns) / view.step_ns, "%", 0.8});
  }
  if (results.step_segmentation != nullptr) {
    const StepSegmentation& segmentation = *results.step_segmentation;
    if (segmentation.source == StepSource::whole_window) {
      view.doubts.push_back(
          {"no steps were marked or found; complete windows", static_cast<double>(view.windows.size()), "count", 0.8});
    } else if (view.windows.size() < 2) {
      view.doubts.push_back(
          {"few complete steps to average over", static_cast<double>(view.windows.size()), "count", 0.8});
    }
  }
  for (const NoteList* notes : {&store.notes, &results.notes}) {
    add_note_doubt(view, *notes, NoteCode::dropped_buffers, 0.7);
    add_note_doubt(view, *notes, NoteCode::interleaved_writers, 0.7);
    add_note_doubt(view, *notes, NoteCode::two_ranks_in_one_file, 0.5);
    add_note_doubt(view, *notes, NoteCode::shared_device, 0.7);
    add_note_doubt(view, *notes, NoteCode::device_no_timing, 0.8);
    add_note_doubt(view, *notes, NoteCode::launch_without_device, 0.8);
  }
}

}  // namespace

double StepView::trust() const {
  double product = 1;
  for (const Doubt& doubt : doubts) product *= doubt.factor;
  return product;
}

double StepView::idle_share_at(double step) const {
  const double busy = undisturbed.window_ns - undisturbed.idle_ns;
  return step > 0 ? std::max(0.0, step - busy) / step : 0;
}

StepView make_step_view(const TraceStore& store, const AnalysisResults& results) {
  StepView view;
  set_unit(view, StepSource::whole_window, true);
  view.has_device = !store.device_events.empty();
  if (results.step_segmentation == nullptr) return view;
  set_unit(view, results.step_segmentation->source, results.step_segmentation->training);
  if (results.time_breakdown == nullptr) return view;
  const DeviceBreakdown* device = busiest(*results.time_breakdown);
  if (device == nullptr || busy_of(device->measured) <= 0) return view;

  view.usable = true;
  view.device = device->device;
  view.paced_by = device->window;
  for (const StepSegmentation::Window& window : results.step_segmentation->windows_of(device->device)) {
    view.windows.push_back(window.time);
  }
  for (const Step& step : results.step_segmentation->steps) {
    if (step.complete) view.host_steps.push_back(step.host);
  }
  view.measured = mean_of(device->measured, device->count);
  view.undisturbed = mean_of(device->undisturbed, device->count);
  if (view.undisturbed.window_ns <= 0) view.undisturbed = view.measured;
  view.step_ns = view.undisturbed.window_ns;
  view.step_low_ns = view.step_high_ns = view.step_ns;
  if (results.distortion != nullptr) {
    const Distortion& distortion = *results.distortion;
    view.distortion_known = distortion.record_cost_ns.has_value();
    if (distortion.undisturbed_step_ns > 0) {
      // The band belongs to the estimate; the view's step is the breakdown's, which is that estimate for its device.
      view.step_low_ns = std::min(view.step_ns, distortion.undisturbed_low_ns);
      view.step_high_ns = std::max(view.step_ns, distortion.undisturbed_high_ns);
    }
  }
  add_doubts(view, store, results);
  return view;
}

}  // namespace accel
