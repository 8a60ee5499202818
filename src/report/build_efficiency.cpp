// How near the work comes to what the devices can do, and the ladder from busy to useful.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/efficiency/efficiency.h"
#include "analysis/kernel_table.h"
#include "analysis/time_breakdown.h"
#include "report/build_parts.h"
#include "trace/processor.h"

namespace accel::report {
namespace {

constexpr std::size_t kGroups = 100;
constexpr std::size_t kGrowth = 20;
constexpr std::size_t kPoints = 20;

constexpr const char* kNoCounters = "needs hardware counters, which this kind of capture does not hold";
constexpr const char* kNoDevice = "the ops ran on the processor, and the capture holds no other device";
constexpr const char* kNoShapes = "needs recorded shapes: record with record_shapes=True";

Text type_text(TensorType type) {
  const std::string_view name = short_type_name(type);
  return name.empty() ? Text{} : Text{std::string(name)};
}

Number peak(double value) { return value > 0 ? number(value) : std::nullopt; }

Text bound_text(RoofBound bound) { return bound == RoofBound::unknown ? Text{} : Text{std::string(to_string(bound))}; }

Number share_or_null(const std::optional<double>& share) {
  return share ? Number{std::round(std::min(1.0, *share) * 1e4) / 1e4} : std::nullopt;
}

DevicePeaks peaks_entry(const DeviceEfficiency& device) {
  DevicePeaks entry;
  entry.device = device.device;
  if (device.properties != nullptr && device.properties->sms > 0) entry.multiprocessors = device.properties->sms;
  if (device.peaks == nullptr) return entry;
  const accel::DevicePeaks& peaks = *device.peaks;
  entry.product = std::string(peaks.product);
  entry.fp64_tflops = peak(peaks.fp64);
  entry.fp32_tflops = peak(peaks.fp32);
  entry.tf32_tflops = peak(peaks.tf32);
  entry.fp16_tflops = peak(peaks.fp16);
  entry.bf16_tflops = peak(peaks.bf16);
  entry.fp8_tflops = peak(peaks.fp8);
  entry.memory_tbps = peak(peaks.memory_tbps);
  if (!entry.multiprocessors) entry.multiprocessors = peaks.multiprocessors;
  entry.source = std::string(peaks.source);
  return entry;
}

WorkGroup group_entry(const Build& build, const DeviceEfficiency& device, const accel::WorkGroup& group) {
  WorkGroup entry;
  entry.device = device.device;
  if (group.op.valid()) entry.op = build.text(group.op);
  if (group.args.valid()) entry.dims = build.text(build.store.op_args.dims[group.args.value]);
  entry.dtype = type_text(group.work.type);
  entry.kind = std::string(to_string(group.work.kind));
  entry.kernel = valid_utf8(short_kernel_name(build.store.text(group.kernel)));
  entry.calls_per_step = number_or(static_cast<double>(group.calls_in_steps) / device.steps, 0);
  entry.ms_per_step = ms_of(group.ns_in_steps / device.steps);
  entry.flops = number(group.work.flops);
  entry.bytes = number(group.work.bytes);
  entry.tflops = number(group.roofline.tflops);
  entry.tbps = number(group.roofline.tbps);
  entry.bound = bound_text(group.roofline.bound);
  entry.roof_share = share_or_null(group.roofline.roof_share);
  entry.tensor_core = group.tensor_core;
  if (!group.fill) return entry;
  entry.occupancy = share_or_null(group.fill->occupancy);
  entry.occupancy_limit = std::string(to_string(group.fill->limit));
  entry.waves = number(group.fill->waves);
  entry.sm_efficiency = share_or_null(group.fill->multiprocessor_share);
  return entry;
}

Growth growth_entry(const Build& build, const SizeGrowth& growth) {
  Growth entry;
  entry.op = build.text(growth.op);
  entry.dtype = type_text(growth.type);
  entry.exponent = number_or(growth.exponent, 0);
  entry.fit = number_or(growth.fit, 0);
  // The ends of a long list say most.
  const std::size_t size = growth.points.size();
  for (std::size_t i = 0; i < size; ++i) {
    if (size > kPoints && i >= kPoints / 2 && i < size - kPoints / 2) continue;
    const SizeGrowth::Point& point = growth.points[i];
    GrowthPoint shown{point.elements, us_of(point.mean_ns), point.calls, {}};
    if (point.args.valid()) shown.dims = build.text(build.store.op_args.dims[point.args.value]);
    entry.points.push_back(std::move(shown));
  }
  return entry;
}

double busy_share(const Build& build, const DeviceEfficiency& device) {
  for (const DeviceBreakdown& breakdown : build.results.time_breakdown->devices) {
    const accel::TimeParts& parts = breakdown.undisturbed.window_ns > 0 ? breakdown.undisturbed : breakdown.measured;
    if (breakdown.device != device.device || parts.window_ns <= 0) continue;
    return 1 - static_cast<double>(parts.idle_ns) / static_cast<double>(parts.window_ns);
  }
  return 0;
}

std::string percent(double share) {
  return 100 * share >= 9.95 ? fmt::format("{:.0f} %", 100 * share) : fmt::format("{:.1f} %", 100 * share);
}

// Where the way from "a kernel was resident" to "the device did what it is bought for" loses most.
std::string ladder_sentence(const Utilisation& ladder, const DeviceEfficiency& device) {
  if (!ladder.device_busy) return {};
  std::string text = fmt::format("a kernel or copy runs for {} of the time, which is what utilisation tools show",
                                 percent(*ladder.device_busy));
  if (device.filled_ns > 0) {
    text += fmt::format("; while kernels run, at most {} of the multiprocessors have work",
                        percent(device.multiprocessor_ns / device.filled_ns));
  }
  if (ladder.tensor_time) text += fmt::format("; tensor cores can be in use for {}", percent(*ladder.tensor_time));
  if (ladder.mfu) {
    text += fmt::format("; the matrix work done is {} of what the device could do in that time at its {} peak",
                        percent(*ladder.mfu), short_type_name(device.main_type));
  }
  if (device.memory_bound_ns > 0.25 * device.kernel_ns && device.kernel_ns > 0) {
    text += fmt::format("; {} of the kernels' time goes into passes over memory that do little arithmetic",
                        percent(device.memory_bound_ns / device.kernel_ns));
  }
  return text;
}

void build_ladder(Build& build, const DeviceEfficiency& device) {
  Utilisation& ladder = build.document.utilisation;
  if (device.step_ns <= 0 || device.steps <= 0 || runs_on_processor(build.store)) return;
  const double busy = busy_share(build, device);
  // Kernels on several streams may run beside each other: their sum is cut to the time in which the device was busy.
  const double shown = device.kernel_ns > 0 ? std::min(1.0, busy * device.step_ns / device.kernel_ns) : 0;
  if (device.filled_ns > 0.5 * device.kernel_ns && device.kernel_ns > 0) {
    const double all = device.multiprocessor_ns * device.kernel_ns / device.filled_ns;
    ladder.sm_active_estimate = share_or_null(all * shown / device.step_ns);
  }
  if (device.kernel_ns > 0) ladder.tensor_time = share_or_null(device.tensor_ns * shown / device.step_ns);
  if (device.roof_known_ns > 0.5 * device.kernel_ns) {
    const double at_roof = device.roof_ns + (device.kernel_ns - device.roof_known_ns);
    ladder.roof_share = share_or_null(at_roof * shown / device.step_ns);
  }
  ladder.mfu = number(device.mfu);
  ladder.mfu_type = type_text(device.main_type);
  if (device.main_type != TensorType::unknown) ladder.mfu_peak_tflops = peak(device.mfu_peak_tflops);
  const std::string sentence = ladder_sentence(ladder, device);
  if (!sentence.empty()) ladder.sentence = sentence;
}

// The device that works most stands for the rank, as in the verdict.
const DeviceEfficiency* busiest(const accel::Efficiency& efficiency) {
  const DeviceEfficiency* best = nullptr;
  for (const DeviceEfficiency& device : efficiency.devices) {
    if (best == nullptr || device.kernel_ns > best->kernel_ns) best = &device;
  }
  return best;
}

void name_reasons(Build& build, const DeviceEfficiency* device) {
  auto& reasons = build.reasons;
  const bool shapes = build.results.efficiency != nullptr && build.results.efficiency->shapes_recorded;
  const std::string no_peaks = device != nullptr && device->peaks == nullptr ? device->why_no_peaks : "";
  const std::string no_roof = !shapes             ? kNoShapes
                              : !no_peaks.empty() ? no_peaks
                                                  : "no formula for this op, or its shapes and types are not recorded";
  reasons["utilisation"] = kNoCounters;
  reasons["utilisation.device_busy"] = reasons["time_breakdown"];
  reasons["utilisation.mfu"] =
      device != nullptr && !device->why_no_mfu.empty() ? device->why_no_mfu : "no complete step on a device";
  reasons["utilisation.mfu_peak_tflops"] = reasons["utilisation.mfu"];
  reasons["utilisation.mfu_type"] = reasons["utilisation.mfu"];
  reasons["utilisation.roof_share"] = !shapes             ? kNoShapes
                                      : !no_peaks.empty() ? no_peaks
                                                          : "the work of less than half of the kernels' time is known";
  reasons["utilisation.sm_active_estimate"] =
      "launch configurations and device limits are not recorded, or are not those of an NVIDIA device";
  reasons["utilisation.tensor_time"] = "no kernel in a complete step";
  reasons["utilisation.sentence"] = "no complete step on a device";
  if (runs_on_processor(build.store)) {
    for (const std::string field :
         {"tensor_time", "sentence", "mfu", "mfu_type", "mfu_peak_tflops", "roof_share", "sm_active_estimate"})
      reasons["utilisation." + field] = kNoDevice;
  }
  reasons["efficiency"] = !shapes ? kNoShapes : "no kernel in a complete step";
  reasons["efficiency.devices"] =
      no_peaks.empty() ? "the device has no such unit, or its maker publishes no figure" : no_peaks;
  for (const std::string list : {"efficiency.groups[]", "kernels[]"}) {
    reasons[list + ".dtype"] = shapes ? "neither the op nor the kernel's name states it" : kNoShapes;
    reasons[list + ".occupancy"] = reasons["utilisation.sm_active_estimate"];
    reasons[list + ".occupancy_limit"] = reasons["utilisation.sm_active_estimate"];
    reasons[list + ".waves"] = reasons["utilisation.sm_active_estimate"];
    reasons[list + ".sm_efficiency"] = reasons["utilisation.sm_active_estimate"];
    reasons[list + ".tflops"] = shapes ? "no formula for this op, or it does no arithmetic" : kNoShapes;
    reasons[list + ".bound"] = no_roof;
    reasons[list + ".roof_share"] = no_roof;
  }
  reasons["efficiency.groups[].op"] = "launched by no recorded op";
  reasons["efficiency.groups[].dims"] = kNoShapes;
  reasons["efficiency.groups[].flops"] = shapes ? "no formula for this op, or its shapes are not recorded" : kNoShapes;
  reasons["efficiency.groups[].bytes"] = reasons["efficiency.groups[].flops"];
  reasons["efficiency.groups[].tbps"] = reasons["efficiency.groups[].flops"];
}

}  // namespace

void add_kernel_efficiency(const Build& build, StringId name, Kernel& entry) {
  if (!build.results.efficiency) return;
  const auto found = build.results.efficiency->kernels.find(name.value);
  if (found == build.results.efficiency->kernels.end()) return;
  const KernelEfficiency& kernel = found->second;
  if (!kernel.types.empty()) entry.dtype = kernel.types;
  if (kernel.ns_filled > 0) {
    entry.occupancy = share_or_null(kernel.occupancy);
    entry.occupancy_limit = std::string(to_string(kernel.limit));
    entry.waves = number(kernel.waves);
    entry.sm_efficiency = share_or_null(kernel.multiprocessor_share);
  }
  entry.tflops = number(kernel.roofline.tflops);
  entry.bound = bound_text(kernel.roofline.bound);
  entry.roof_share = share_or_null(kernel.roofline.roof_share);
}

void build_efficiency(Build& build) {
  const auto& efficiency = build.results.efficiency;
  const DeviceEfficiency* device = efficiency ? busiest(*efficiency) : nullptr;
  name_reasons(build, device);
  if (device == nullptr) return;
  Efficiency& entry = build.document.efficiency;
  for (const DeviceEfficiency& each : efficiency->devices) {
    entry.devices.push_back(peaks_entry(each));
    if (each.steps <= 0) continue;
    for (const accel::WorkGroup& group : each.groups) {
      if (group.calls_in_steps == 0 || entry.groups.size() > kGroups) break;
      entry.groups.push_back(group_entry(build, each, group));
    }
  }
  std::stable_sort(entry.groups.begin(), entry.groups.end(),
                   [](const WorkGroup& a, const WorkGroup& b) { return a.ms_per_step > b.ms_per_step; });
  if (entry.groups.size() > kGroups) entry.groups.resize(kGroups);
  for (const SizeGrowth& growth : efficiency->growth) {
    if (entry.growth.size() == kGrowth) break;
    entry.growth.push_back(growth_entry(build, growth));
  }
  if (efficiency->shapes_recorded && device->kernel_ns > 0) {
    entry.tflop_per_step = number(device->matrix_flops / 1e12);
    entry.matrix_ms_per_step = ms_of(device->matrix_ns);
    entry.known_share = share_or_null(device->roof_known_ns / device->kernel_ns);
  }
  build_ladder(build, *device);
}

}  // namespace accel::report
