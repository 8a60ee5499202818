// What the rules about device work share: the kernels of a step by what they do, how near to the roof matrix kernels
// come in this capture, and the gain of kernels that take less time. ns per complete step.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/efficiency/efficiency.h"
#include "diagnosis/rule.h"
#include "diagnosis/step_view.h"

namespace accel {

// Share of the device's peak that kernels reach, as a range.
struct ReachedShare {
  double worst = 0;
  double expected = 0;
  double best = 0;
  bool learnt = false;  // expected is from kernels of this capture
};

// The verdict's device; null without results for it.
const DeviceEfficiency* verdict_device(const DiagnosisInput& input);

// Kernels' time is a sum over streams; findings are about time in which the device computes: the factor between them.
double compute_share(const StepView& view, const DeviceEfficiency& device);

double ns_per_step(const DeviceEfficiency& device, const WorkGroup& group);

// What matrix products of a healthy shape reach: the mean of those of this capture that `counts` accepts, else the
// usual figure; the ends are what published measurements show.
ReachedShare reached_by_matmuls(const DeviceEfficiency& device, bool (*counts)(const WorkGroup&));

// The device's pace is the step's in the recording itself: work taken off it shortens the step. Where the recording
// made the host slower than the device, it cannot be told how far the step would follow.
bool device_surely_paces(const StepView& view);

// Time of kernels that an action shortens, per step.
struct KernelSaving {
  double least_ns = 0;
  double expected_ns = 0;
  double most_ns = 0;
};
// Claims the expected saving, and sets the gain: a model where the device surely sets the pace, else a bound alone.
void set_kernel_gain(Finding& finding, const StepView& view, const KernelSaving& saving);

// Adds the place of the group's call, and its kernel, unless they are there already; at most `most` places.
void add_place(Finding& finding, const DiagnosisInput& input, const WorkGroup& group, std::size_t most = 6);

std::string short_dims(const TraceStore& store, const WorkGroup& group);  // "[8192, 4093] x [4093, 4093]"

}  // namespace accel
