// SyntheticJob: a training loop with known times, built through TraceBuilder, for tests of analyses and rules. All
// times are microseconds from the first step. The host's clock `now` moves with every call; the device runs kernels in
// order.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/analysis.h"
#include "diagnosis/diagnosis.h"
#include "trace/trace_builder.h"

namespace accel::test {

class SyntheticJob {
 public:
  SyntheticJob() { main_ = batch_.add_thread(1, 1, StringId(0), StringId(0)); }

  double now = 0;          // host time
  double device_free = 0;  // when the device has done all that was launched

  // -- the host
  void begin_step() { step_start_ = now; }
  void end_step() { slice(SliceKind::annotation, "ProfilerStep#" + std::to_string(step_++), step_start_, now); }
  void range(std::string_view name, double start, double end) { slice(SliceKind::annotation, name, start, end); }
  void frame(std::string_view name, double start, double end) {
    FrameDetailRow detail{next_frame_++, kNotRecorded32, kNotRecorded32};
    batch_.add_slice(row(SliceKind::frame, name, start, end), &detail);
  }
  void op_between(std::string_view name, double start, double end) { slice(SliceKind::op, name, start, end); }
  // An op that launches nothing.
  void cpu_op(std::string_view name, double duration) {
    op_between(name, now, now + duration);
    now += duration;
  }
  // Time in which nothing is recorded.
  void silence(double duration) { now += duration; }
  // A call that has no device record: an allocator call, a synchronisation.
  double call(std::string_view name, double duration) {
    call_record(name, now, now + duration, kNotRecorded);
    now += duration;
    return now;
  }
  // An op that launches one kernel: `host` us on the host, `device` us on the device.
  void launch(std::string_view op, std::string_view kernel, double host, double device) {
    const std::int64_t correlation = ++correlation_;
    op_between(op, now, now + host);
    call_record("cudaLaunchKernel", now + host * 0.4, now + host * 0.8, correlation);
    device_event(DeviceEventKind::kernel, kernel, std::max(device_free, now + host * 0.8 + 2), device, correlation, {});
    now += host;
  }
  // The same with recorded arguments and launch configuration; by default a grid that fills the device.
  struct Shaped {
    std::string_view op;
    std::string_view dims;
    std::string_view types;
    std::string_view kernel;
    double host = 10;
    double device = 0;
    std::int32_t blocks = 132 * 16;
    std::string_view strides = {};
  };
  void launch_shaped(const Shaped& shaped) {
    OpArgsRow args;
    args.dims = batch_.intern(shaped.dims);
    args.types = batch_.intern(shaped.types);
    if (!shaped.strides.empty()) args.strides = batch_.intern(shaped.strides);
    LaunchConfigRow config;
    config.grid_x = shaped.blocks;
    config.block_x = 256;
    config.grid_y = config.grid_z = config.block_y = config.block_z = 1;
    config.registers = 32;
    config.shared_memory = 0;
    args_ = batch_.add_op_args(args);
    config_ = batch_.add_launch_config(config);
    launch(shaped.op, shaped.kernel, shaped.host, shaped.device);
    args_ = ArgsId();
    config_ = LaunchConfigId();
  }
  // The device is an H200 of 132 multiprocessors.
  void on_h200() { named_ = true; }
  // The host waits until the device is done, inside `op`.
  void wait(std::string_view op, std::string_view name = "cudaStreamSynchronize") {
    const double end = std::max(now + 2, device_free + 1) + 1;
    op_between(op, now, end + 1);
    call_record(name, now + 1, end, kNotRecorded);
    now = end + 1;
  }
  struct Copy {
    CopyDirection direction = CopyDirection::host_to_device;
    MemoryKind source = MemoryKind::pinned;
    MemoryKind destination = MemoryKind::device;
    std::int64_t bytes = 0;
    double device_us = 0;
    std::int64_t stream = 7;
  };
  // From pageable memory the call lasts until the copy is done.
  void copy(const Copy& copy) {
    const std::int64_t correlation = ++correlation_;
    const bool blocks = copy.source == MemoryKind::pageable || copy.destination == MemoryKind::pageable;
    const bool own_stream = copy.stream != 7;
    const double start = own_stream ? std::max(now + 3, copy_free_) : std::max(device_free, now + 3);
    const double end = start + copy.device_us;
    const double call_end = blocks ? end + 2 : now + 5;
    op_between("aten::copy_", now, call_end + 1);
    call_record("cudaMemcpyAsync", now + 1, call_end, correlation);
    device_event(DeviceEventKind::memcpy, "Memcpy", start, copy.device_us, correlation, copy);
    now = call_end + 1;
  }

  // Ops that only wrap another op: their own time tells what recording costs.
  void wrapping_ops(int count, double duration, double own) {
    for (int i = 0; i < count; ++i) {
      op_between("aten::detach", now, now + duration);
      op_between("detach", now + own, now + duration);
      now += duration;
    }
  }

  // -- the framework's allocator on device 0, whose card has `card` bytes; it states its own totals
  std::int64_t card = 0;
  std::int64_t allocated = 0;
  std::int64_t reserved = 0;
  void allocate(std::int64_t address, std::int64_t bytes) { memory_event(address, bytes); }
  void release(std::int64_t address, std::int64_t bytes) { memory_event(address, -bytes); }

  TraceStore store() {
    TraceBuilder builder;
    builder.process().main_pid = 1;
    if (card > 0) {
      DeviceProperties properties;
      properties.total_memory_bytes = card;
      builder.process().devices.push_back(properties);
    }
    if (named_) {
      DeviceProperties device;
      device.name = "NVIDIA H200";
      device.sms = 132;
      device.compute_major = 9;
      device.compute_minor = 0;
      device.max_threads_per_sm = 2048;
      device.registers_per_sm = 65536;
      device.shared_memory_per_sm = 233472;
      device.warp_size = 32;
      builder.process().devices.push_back(device);
    }
    builder.commit(batch_, 0);
    Result<TraceStore> result = builder.finish();
    EXPECT_TRUE(result.ok());
    return std::move(*result);
  }

  struct Outcome {
    TraceStore store;
    AnalysisResults results;
    Diagnosis diagnosis;

    const Finding* find(std::string_view rule) const {
      const auto found = std::find_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                                      [&](const Finding& f) { return f.rule == rule; });
      return found == diagnosis.findings.end() ? nullptr : &*found;
    }
    // Above info.
    bool fires(std::string_view rule) const {
      const Finding* finding = find(rule);
      return finding != nullptr && finding->severity != FindingSeverity::info;
    }
  };

  Outcome diagnose(const AnalysisOptions& options = {}) {
    Outcome outcome{store(), {}, {}};
    Result<AnalysisResults> results = run_analyses(outcome.store, options);
    EXPECT_TRUE(results.ok());
    outcome.results = std::move(*results);
    outcome.diagnosis = accel::diagnose(outcome.store, outcome.results, options);
    return outcome;
  }

 private:
  static std::int64_t ns(double us) { return static_cast<std::int64_t>(us * 1000) + 1'000'000'000; }

  SliceRow row(SliceKind kind, std::string_view name, double start, double end) {
    SliceRow slice;
    slice.start_ns = ns(start);
    slice.dur_ns = ns(end) - ns(start);
    slice.name = batch_.intern(name);
    slice.thread = main_;
    slice.kind = kind;
    return slice;
  }
  void slice(SliceKind kind, std::string_view name, double start, double end) {
    OpDetailRow detail{kNotRecorded, kNotRecorded, args_, kNotRecorded32};
    batch_.add_slice(row(kind, name, start, end), &detail);
  }
  void call_record(std::string_view name, double start, double end, std::int64_t correlation) {
    CallDetailRow detail{correlation, kNotRecorded};
    batch_.add_slice(row(SliceKind::runtime_call, name, start, end), &detail);
  }
  void device_event(DeviceEventKind kind, std::string_view name, double start, double duration,
                    std::int64_t correlation, const Copy& copy) {
    DeviceEventRow event;
    event.start_ns = ns(start);
    event.dur_ns = static_cast<std::int64_t>(duration * 1000);
    event.correlation = correlation;
    event.external_id = kNotRecorded;
    event.name = batch_.intern(name);
    event.stream = batch_.add_stream(0, 1, copy.stream);
    event.kind = kind;
    if (kind == DeviceEventKind::kernel) {
      KernelDetailRow detail;
      detail.config = config_;
      batch_.add_device_event(event, &detail);
    } else {
      CopyDetailRow detail{copy.bytes, copy.direction, copy.source, copy.destination};
      batch_.add_device_event(event, &detail);
    }
    double& free = copy.stream != 7 ? copy_free_ : device_free;
    free = start + duration;
  }

  void memory_event(std::int64_t address, std::int64_t bytes) {
    allocated += bytes;
    MemoryEventRow event;
    event.time_ns = ns(now);
    event.address = address;
    event.bytes = bytes;
    event.total_allocated = allocated;
    event.total_reserved = reserved;
    event.thread = main_;
    event.device_type = 1;
    event.device = 0;
    batch_.memory_events.push(event);
    now += 1;
  }

  TraceBatch batch_;
  ThreadIndex main_;
  ArgsId args_;
  LaunchConfigId config_;
  bool named_ = false;
  double step_start_ = 0;
  double copy_free_ = 0;
  int step_ = 0;
  std::int64_t correlation_ = 0;
  std::int32_t next_frame_ = 0;
};

}  // namespace accel::test
