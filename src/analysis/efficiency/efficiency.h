// Efficiency: what each op call had to do (operations, bytes), what its kernels took for it, and how near that is to
// what the device can do: achieved TFLOP/s and TB/s, place under the roofline, fill of the device, MFU of the step.
// Calls are grouped by op, arguments (shapes and types), main kernel and launch configuration. Unknown is absent, never
// 0.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/efficiency/device_peaks.h"
#include "analysis/efficiency/occupancy.h"
#include "analysis/efficiency/op_work.h"
#include "analysis/efficiency/step_input.h"
#include "trace/trace_store.h"

namespace accel {

// What bounds a kernel at the roof: arithmetic or memory; cache: it moves more than memory can, so a cache serves it.
enum class RoofBound : std::uint8_t { unknown, compute, memory, cache };
std::string_view to_string(RoofBound bound);

struct Roofline {
  std::optional<double> tflops;
  std::optional<double> tbps;
  RoofBound bound = RoofBound::unknown;
  std::optional<double> roof_share;  // time at the roof over time taken, 0 to 1
  double roof_ns = 0;                // time that the roof allows
};

struct WorkGroup {
  StringId op;      // invalid: launched by no op (graph replays)
  ArgsId args;      // of the calls; invalid: not recorded
  StringId kernel;  // the one that took most of the call's time
  LaunchConfigId config;
  DeviceEventId example;      // a launch of that kernel
  SliceId example_call;       // a call of that op
  OpWork work;                // of one call
  double input_elements = 0;  // of the largest tensor input; 0 = not recorded
  bool tensor_core = false;
  bool communication = false;
  std::uint64_t calls = 0;  // in the whole capture
  std::uint64_t kernels = 0;
  double device_ns = 0;
  double layout_ns = 0;              // of it, kernels that only rearrange tensors
  std::uint64_t calls_in_steps = 0;  // in complete steps
  double ns_in_steps = 0;
  std::optional<LaunchFill> fill;
  Roofline roofline;

  double ns_per_call() const { return calls > 0 ? device_ns / static_cast<double>(calls) : 0; }
};

struct KernelEfficiency {
  std::string types;  // short names of the types of the ops that ran it, or that its own name states
  double ns = 0;
  double ns_filled = 0;  // of launches whose fill is known; the means below are over these, weighted by time
  double occupancy = 0;
  double waves = 0;
  double multiprocessor_share = 0;
  OccupancyLimit limit = OccupancyLimit::none;  // of the launches that took most time
  Roofline roofline;                            // over the calls that it is the main kernel of
};

struct DeviceEfficiency {
  std::int64_t device = 0;
  const DevicePeaks* peaks = nullptr;  // null: not in the table
  const DeviceProperties* properties = nullptr;
  std::string why_no_peaks;
  std::vector<WorkGroup> groups;  // most time in steps first
  double steps = 0;               // complete steps
  // Per complete step.
  double kernel_ns = 0;        // sum over kernels that are no communication
  double matrix_ns = 0;        // kernels of matrix products, convolutions and attention
  double matrix_known_ns = 0;  // of these, with recorded shapes
  double tensor_ns = 0;        // kernels whose names say that they use tensor cores
  double flops = 0;            // all known
  double matrix_flops = 0;
  double roof_known_ns = 0;    // kernels with a place under the roofline
  double roof_ns = 0;          // what these would take at the roof
  double memory_bound_ns = 0;  // of these, memory-bound
  double memory_roof_ns = 0;
  double compute_bound_ns = 0;
  double compute_roof_ns = 0;
  double filled_ns = 0;                        // kernels with a known fill
  double multiprocessor_ns = 0;                // these times the share of multiprocessors with work
  double step_ns = 0;                          // undisturbed step
  TensorType main_type = TensorType::unknown;  // of most matrix operations
  double mfu_peak_tflops = 0;                  // peak that the MFU is stated against; 0 = unknown
  std::optional<double> mfu;
  std::string why_no_mfu;
};

// One op that ran with at least four sizes: time ~ size^exponent.
struct SizeGrowth {
  StringId op;
  TensorType type = TensorType::unknown;
  double exponent = 0;
  double fit = 0;  // r squared of the fit in logarithms
  struct Point {
    double elements = 0;
    double mean_ns = 0;
    std::uint64_t calls = 0;
    ArgsId args;
  };
  std::vector<Point> points;  // smallest first
};

struct Efficiency {
  std::vector<DeviceEfficiency> devices;              // as in TraceStore::device_ranges
  std::map<std::uint32_t, KernelEfficiency> kernels;  // by StringId of the kernel's name
  std::map<std::uint32_t, double> op_flops;           // by StringId of the op's name, sum over the capture
  std::vector<SizeGrowth> growth;                     // most device time first
  // The op call that each device event's work is counted for; invalid for copies and what no op launched. As
  // device_events.
  std::vector<SliceId> owner_of_event;
  bool shapes_recorded = false;
  StepInput input;

  const DeviceEfficiency* of_device(std::int64_t device) const;
};

// Place under the roofline of `ns` spent on that work. Parts that are not known are absent.
Roofline place_under_roof(const DevicePeaks* peaks, const OpWork& work, bool tensor_core, double ns);

}  // namespace accel
