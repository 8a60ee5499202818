// A small trace written by hand, for tests. Times are microseconds; one process, one main thread unless said otherwise.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "analysis/analysis.h"
#include "trace/trace_builder.h"

namespace accel {

class SmallTrace {
 public:
  static constexpr int kMain = 1;

  SmallTrace& step(int number, std::int64_t start, std::int64_t dur) {
    return range("ProfilerStep#" + std::to_string(number), start, dur);
  }
  SmallTrace& range(std::string_view name, std::int64_t start, std::int64_t dur, int thread = kMain) {
    return add_op(SliceKind::annotation, name, start, dur, thread);
  }
  SmallTrace& op(std::string_view name, std::int64_t start, std::int64_t dur, int thread = kMain,
                 std::string_view dims = {}) {
    return add_op(SliceKind::op, name, start, dur, thread, dims);
  }
  // An op with an autograd sequence number; forward_thread above 0 makes it a backward node.
  SmallTrace& node(std::string_view name, std::int64_t start, std::int64_t dur, std::int64_t sequence,
                   std::int32_t forward_thread, int thread = kMain) {
    const OpDetailRow detail{sequence, kNotRecorded, ArgsId(), forward_thread};
    batch_.add_slice(slice(SliceKind::op, name, start, dur, thread), &detail);
    return *this;
  }
  SmallTrace& frame(std::string_view name, std::int64_t start, std::int64_t dur, int thread = kMain) {
    const FrameDetailRow detail{};
    batch_.add_slice(slice(SliceKind::frame, name, start, dur, thread), &detail);
    return *this;
  }
  SmallTrace& overhead(std::string_view name, std::int64_t start, std::int64_t dur) {
    SliceRow row = slice(SliceKind::overhead, name, start, dur, 0);
    row.thread = batch_.add_thread(-1, 0, StringId(), StringId());
    batch_.add_slice(row, static_cast<const CallDetailRow*>(nullptr));
    return *this;
  }
  SmallTrace& call(std::string_view name, std::int64_t start, std::int64_t dur, std::int64_t correlation = kNotRecorded,
                   int thread = kMain) {
    const CallDetailRow detail{correlation, kNotRecorded};
    batch_.add_slice(slice(SliceKind::runtime_call, name, start, dur, thread), &detail);
    return *this;
  }
  SmallTrace& kernel(std::string_view name, std::int64_t start, std::int64_t dur, std::int64_t correlation,
                     std::int64_t stream = 7, std::int64_t device = 0, std::int64_t graph_node = kNotRecorded) {
    KernelDetailRow detail;
    detail.graph_node = graph_node;
    detail.graph = kNotRecorded32;
    batch_.add_device_event(event(DeviceEventKind::kernel, name, start, dur, correlation, stream, device), &detail);
    return *this;
  }
  SmallTrace& copy(CopyDirection direction, MemoryKind from, MemoryKind to, std::int64_t start, std::int64_t dur,
                   std::int64_t correlation, std::int64_t bytes = 1024, std::int64_t stream = 7) {
    const CopyDetailRow detail{bytes, direction, from, to};
    batch_.add_device_event(event(DeviceEventKind::memcpy, "Memcpy", start, dur, correlation, stream, 0), &detail);
    return *this;
  }
  SmallTrace& set(std::int64_t start, std::int64_t dur, std::int64_t correlation) {
    const CopyDetailRow detail{64, CopyDirection::unknown, MemoryKind::unknown, MemoryKind::device};
    batch_.add_device_event(event(DeviceEventKind::memset, "Memset (Device)", start, dur, correlation, 7, 0), &detail);
    return *this;
  }
  // The device side's row of a cudaStreamWaitEvent: `stream` waits for what `record` (a correlation) marked on `other`.
  SmallTrace& stream_wait(std::int64_t start, std::int64_t correlation, std::int64_t stream, std::int64_t other,
                          std::int64_t record) {
    batch_.device_syncs.push({start * 1000, 1000, correlation, stream, other, record,
                              batch_.intern("Stream Wait Event"), batch_.add_stream(0, 1, stream)});
    return *this;
  }
  // A launch call of 5 us and its kernel.
  SmallTrace& launched(std::string_view kernel_name, std::int64_t launch_start, std::int64_t kernel_start,
                       std::int64_t kernel_dur, std::int64_t correlation, std::int64_t stream = 7) {
    call("cudaLaunchKernel", launch_start, 5, correlation);
    return kernel(kernel_name, kernel_start, kernel_dur, correlation, stream);
  }

  TraceBatch& batch() { return batch_; }
  TraceBuilder& builder() { return *builder_; }

  TraceStore store() {
    builder_->commit(batch_, 0);
    Result<TraceStore> result = builder_->finish();
    EXPECT_TRUE(result.ok());
    return std::move(*result);
  }

 private:
  SliceRow slice(SliceKind kind, std::string_view name, std::int64_t start, std::int64_t dur, int thread) {
    SliceRow row;
    row.start_ns = start * 1000;
    row.dur_ns = dur < 0 ? 0 : dur * 1000;
    row.flags = dur < 0 ? kSliceUnfinished : 0;
    row.name = batch_.intern(name);
    row.thread = batch_.add_thread(1, thread, StringId(), StringId());
    row.kind = kind;
    return row;
  }
  SmallTrace& add_op(SliceKind kind, std::string_view name, std::int64_t start, std::int64_t dur, int thread,
                     std::string_view dims = {}) {
    OpDetailRow detail{kNotRecorded, kNotRecorded, ArgsId(), kNotRecorded32};
    if (!dims.empty()) {
      OpArgsRow args;
      args.dims = batch_.intern(dims);
      detail.args = batch_.add_op_args(args);
    }
    batch_.add_slice(slice(kind, name, start, dur, thread), &detail);
    return *this;
  }
  DeviceEventRow event(DeviceEventKind kind, std::string_view name, std::int64_t start, std::int64_t dur,
                       std::int64_t correlation, std::int64_t stream, std::int64_t device) {
    DeviceEventRow row;
    row.start_ns = start * 1000;
    row.dur_ns = dur * 1000;
    row.correlation = correlation;
    row.external_id = kNotRecorded;
    row.name = batch_.intern(name);
    row.stream = batch_.add_stream(device, 1, stream);
    row.kind = kind;
    return row;
  }

  TraceBatch batch_;
  std::unique_ptr<TraceBuilder> builder_ = std::make_unique<TraceBuilder>();
};

inline AnalysisResults analyse(const TraceStore& store, const AnalysisOptions& options = {}) {
  Result<AnalysisResults> results = run_analyses(store, options);
  EXPECT_TRUE(results.ok());
  return std::move(*results);
}

}  // namespace accel
