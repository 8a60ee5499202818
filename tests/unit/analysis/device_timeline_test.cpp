#include "analysis/device_timeline.h"

#include "unit/analysis/small_trace.h"

namespace accel {
namespace {

TEST(DeviceTimeline, OverlappingKernelsOfOneStreamCountOnce) {
  SmallTrace trace;
  trace.kernel("a", 0, 100, 1).kernel("b", 90, 60, 2);
  const TraceStore store = trace.store();
  EXPECT_EQ(analyse(store).device_timeline->devices[0].busy.total_ns(), 150'000);
}

TEST(DeviceTimeline, ADeviceIsIdleOnlyWhenEveryStreamIs) {
  SmallTrace trace;
  trace.kernel("a", 0, 1, 1, 7).kernel("b", 0, 50, 2, 8).kernel("a", 49, 1, 3, 7);
  const TraceStore store = trace.store();
  EXPECT_EQ(analyse(store).device_timeline->devices[0].busy.total_ns(), 50'000);
}

TEST(DeviceTimeline, DevicesAreNeverSummed) {
  SmallTrace trace;
  trace.kernel("a", 0, 100, 1, 7, 0).kernel("b", 0, 100, 2, 7, 1);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  ASSERT_EQ(results.device_timeline->devices.size(), 2U);
  for (const auto& device : results.device_timeline->devices) EXPECT_EQ(device.busy.total_ns(), 100'000);
}

TEST(DeviceTimeline, CommunicationUnderComputeIsNotExposed) {
  SmallTrace trace;
  trace.kernel("gemm", 0, 60, 1, 7).kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 40, 60, 2, 8);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const auto& device = results.device_timeline->devices[0];
  EXPECT_EQ(device.compute.total_ns(), 60'000);
  EXPECT_EQ(device.communication_exposed.total_ns(), 40'000);
  EXPECT_EQ(device.communication_overlapped.total_ns(), 20'000);
}

TEST(DeviceTimeline, CopiesUnderKernelsAreNotExposed) {
  SmallTrace trace;
  trace.kernel("gemm", 0, 60, 1)
      .copy(CopyDirection::host_to_device, MemoryKind::pinned, MemoryKind::device, 50, 30, 2)
      .set(100, 5, 3);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const auto& device = results.device_timeline->devices[0];
  EXPECT_EQ(device.copy_exposed.total_ns(), 20'000);
  EXPECT_EQ(device.memory_exposed.total_ns(), 25'000);
  EXPECT_EQ(device.busy.total_ns(), 85'000);
}

TEST(DeviceTimeline, ARecordThatSwallowsItsSuccessorsIsCutAtTheNextOne) {
  SmallTrace trace;
  trace.kernel("fmha", 0, 1'600'000, 1);
  for (int k = 0; k < 80; ++k) trace.kernel("next", 1000 + 100 * k, 30, 2 + k);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  ASSERT_EQ(results.device_timeline->corrected_ends.size(), 1U);
  EXPECT_EQ(results.device_timeline->devices[0].busy.total_ns(), (1000 + 80 * 30) * 1000);
  EXPECT_NE(results.notes.find(NoteCode::device_event_beyond_next), nullptr);
}

}  // namespace
}  // namespace accel
