#include "analysis/time_breakdown.h"

#include <numeric>

#include "analysis/distortion.h"
#include "unit/analysis/small_trace.h"

namespace accel {
namespace {

void expect_sums(const TimeParts& parts) {
  EXPECT_EQ(parts.window_ns,
            parts.compute_ns + parts.memory_exposed_ns + parts.communication_exposed_ns + parts.idle_ns);
  EXPECT_EQ(parts.idle_ns, std::accumulate(parts.idle_causes.begin(), parts.idle_causes.end(), std::int64_t{0}));
  for (const std::int64_t cause : parts.idle_causes) EXPECT_GE(cause, 0);
}

TEST(TimeBreakdown, PartsAddUpToTheWindow) {
  SmallTrace trace;
  trace.step(1, 0, 1000).launched("gemm", 90, 100, 200, 1).launched("ncclDevKernel_AllReduce", 150, 250, 150, 2, 9);
  trace.call("cudaMemcpyAsync", 160, 5, 3)
      .copy(CopyDirection::host_to_device, MemoryKind::pinned, MemoryKind::device, 390, 60, 3);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const DeviceBreakdown& device = results.time_breakdown->devices[0];
  EXPECT_EQ(device.measured.window_ns, 1'000'000);
  EXPECT_EQ(device.measured.compute_ns, 200'000);
  EXPECT_EQ(device.measured.communication_exposed_ns, 100'000);
  EXPECT_EQ(device.measured.communication_overlapped_ns, 50'000);
  EXPECT_EQ(device.measured.memory_exposed_ns, 50'000);
  EXPECT_EQ(device.measured.idle_ns, 650'000);
  expect_sums(device.measured);
  expect_sums(device.undisturbed);
}

// Two steps of 1 ms with 100 views of 5 us, 3 of them their own, between two kernels; device busy 2 x 100 us a step.
SmallTrace many_records() {
  SmallTrace trace;
  std::int64_t correlation = 1;
  for (int k = 0; k < 2; ++k) {
    const std::int64_t start = k * 1000;
    trace.step(k, start, 1000);
    trace.launched("gemm", start, start + 10, 100, correlation);
    for (int i = 0; i < 100; ++i) trace.op("aten::detach", start + 120 + 7 * i, 5).op("detach", start + 123 + 7 * i, 2);
    trace.launched("gemm", start + 880, start + 900, 100, correlation + 1);
    correlation += 2;
  }
  trace.op("fine clock", 0, 1);
  return trace;
}

TEST(TimeBreakdown, WhatTheRecordingMadeIsACauseOfItsOwnAndGoneUndisturbed) {
  SmallTrace trace = many_records();
  // One time that is no whole microsecond: the clock is fine.
  SliceRow row;
  row.start_ns = 1'990'001;
  row.dur_ns = 10;
  row.name = trace.batch().intern("aten::view");
  row.thread = trace.batch().add_thread(1, SmallTrace::kMain, StringId(), StringId());
  row.kind = SliceKind::op;
  trace.batch().add_slice(row, static_cast<const OpDetailRow*>(nullptr));
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const Distortion& distortion = *results.distortion;
  ASSERT_TRUE(distortion.record_cost_ns.has_value());
  EXPECT_NEAR(*distortion.record_cost_ns, 0.7 * 3000, 0.01);
  const DeviceBreakdown& device = results.time_breakdown->devices[0];
  expect_sums(device.measured);
  expect_sums(device.undisturbed);
  const auto overhead = static_cast<std::size_t>(IdleCause::profiler_overhead);
  EXPECT_GT(device.measured.idle_causes[overhead], 800'000);
  EXPECT_EQ(device.undisturbed.idle_causes[overhead], 0);
  EXPECT_EQ(device.undisturbed.compute_ns, device.measured.compute_ns);
  EXPECT_NEAR(static_cast<double>(device.undisturbed.window_ns) / 2, distortion.undisturbed_step_ns, 2);
}

TEST(TimeBreakdown, WithoutAnEstimateUndisturbedIsAsMeasured) {
  SmallTrace trace;
  trace.step(1, 0, 1000).launched("gemm", 90, 100, 200, 1);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const DeviceBreakdown& device = results.time_breakdown->devices[0];
  EXPECT_FALSE(results.distortion->record_cost_ns.has_value());
  EXPECT_EQ(device.undisturbed.window_ns, device.measured.window_ns);
  EXPECT_EQ(device.undisturbed.idle_ns, 800'000);
}

TEST(TimeBreakdown, TwoBusyDevicesAreEachFull) {
  SmallTrace trace;
  trace.step(1, 0, 100).kernel("a", 0, 100, 1, 7, 0).kernel("b", 0, 100, 2, 7, 1);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  ASSERT_EQ(results.time_breakdown->devices.size(), 2U);
  for (const DeviceBreakdown& device : results.time_breakdown->devices) {
    EXPECT_EQ(device.measured.compute_ns, 100'000);
    EXPECT_EQ(device.measured.idle_ns, 0);
  }
}

}  // namespace
}  // namespace accel
