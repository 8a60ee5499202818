// Steps: which stretch of the trace is one training step, which device events belong to it, and who sets the pace.
// Definitions: docs/design of time; reference figures count a device event to the step in whose [start, end) its launch
// starts (any thread).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/interval_set.h"
#include "trace/trace_store.h"

namespace accel {

enum class StepSource : std::uint8_t {
  profiler_step,
  user_annotation,
  native_mark,
  optimizer_step,
  dataloader_next,
  kernel_pattern,
  whole_window
};
enum class PacedBy : std::uint8_t { unknown, host, device };
enum class StepClass : std::uint8_t { train, evaluation, checkpoint, accumulation, warmup };

struct Step {
  std::int64_t number = 0;  // N of ProfilerStep#N, else 0, 1, 2, ...
  SliceId slice;            // the marking slice, if there is one
  Interval host;            // the step on the host: of the mark itself
  bool complete = true;     // cut steps, steps with lost launches and warm-up are kept out of averages
  std::uint32_t kernel_launches = 0;
  std::uint32_t launches_without_device = 0;  // kernel launches alone
  StepClass step_class = StepClass::train;
};

// One device as seen by one step.
struct DeviceStep {
  std::uint32_t assigned_events = 0;
  std::int64_t assigned_busy_ns = 0;           // union, unclipped
  std::int64_t first_start_ns = kNotRecorded;  // of the assigned events
  std::int64_t last_end_ns = kNotRecorded;
};

struct DeviceSteps {
  std::int64_t device = 0;
  std::vector<DeviceStep> steps;        // same length as StepSegmentation::steps
  std::vector<std::int64_t> period_ns;  // differences of first_start_ns of successive steps that have one
  double period_mean_ns = 0;            // over periods between complete steps; 0 with empty period_ns
  double lag_at_end_mean_ns = 0;        // last_end - host end of the step, mean over complete steps
  std::int64_t lag_at_last_end_ns = 0;  // likewise, of the last complete step
  double lag_growth_ns = 0;             // per step, between the first and last complete step
};

struct StepSegmentation {
  StepSource source = StepSource::whole_window;
  bool training = true;  // false: an inference or other capture; reports avoid training words
  std::vector<Step> steps;
  std::vector<DeviceSteps> devices;  // by ascending device index
  // Step of each device event by its launch; -1 = none. Same length as device_events.
  std::vector<std::int32_t> step_of_device_event;
  std::uint32_t complete_count = 0;
  double host_mean_ns = 0;  // mean host interval of complete steps
  double host_median_ns = 0;
  double host_cv = 0;
  PacedBy paced_by = PacedBy::unknown;
  std::int64_t pacing_device = -1;  // the device whose period is the step, when paced by a device
  double step_mean_ns = 0;          // host_mean_ns or that device's period_mean_ns
  // The window of each complete step that averages are taken over: host interval, or device period window.
  struct Window {
    std::uint32_t step = 0;  // index into steps
    Interval time;
  };
  std::vector<Window> windows_of(std::int64_t device) const;  // by paced_by
  std::vector<Window> pace_windows() const;                   // those that the step time is the mean of
  std::vector<Window> host_windows() const;                   // host intervals of complete steps
  // Device periods: first assigned start of a complete step to that of the next step. A step without a successor that
  // ran on the device has none, unless it is the only one: then it ends with its own last event.
  std::vector<Window> device_windows(std::int64_t device) const;
  // Index of the step that holds this time on the host; -1 = none.
  std::int32_t step_at(std::int64_t time_ns) const;
};

std::string_view to_string(StepSource source);
std::string_view to_string(PacedBy paced_by);
std::string_view to_string(StepClass step_class);

}  // namespace accel
