#include "analysis/waits.h"

#include "analysis/idle_attribution.h"
#include "unit/analysis/small_trace.h"

namespace accel {
namespace {

TEST(Waits, AWaitForABusyDeviceCostsOnlyTheIdleThatFollows) {
  SmallTrace trace;
  // 100..900 busy; the host waits from 120 until 905, works until 1000 and launches again.
  trace.step(1, 0, 2000).launched("k", 90, 100, 800, 1);
  trace.op("aten::item", 110, 800)
      .call("cudaStreamSynchronize", 120, 785)
      .op("aten::add", 920, 90)
      .launched("k", 1000, 1010, 990, 2);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const Waits& waits = *results.waits;
  ASSERT_EQ(waits.groups.size(), 1U);
  EXPECT_EQ(store.text(waits.groups[0].by), "aten::item");
  EXPECT_EQ(waits.count_in_steps, 1U);
  EXPECT_EQ(waits.host_ns, 785'000);
  // 5 us in the call after the device was done, and the 105 us until the next kernel, which the wait of 780 explains.
  EXPECT_EQ(waits.device_idle_ns, 110'000);
}

TEST(Waits, AWaitForAnIdleDeviceExplainsNothingAfterItself) {
  SmallTrace trace;
  trace.step(1, 0, 2000)
      .launched("k", 0, 5, 45, 1)
      .op("aten::item", 490, 30)
      .call("cudaStreamSynchronize", 500, 10)
      .launched("k", 1000, 1010, 990, 2);
  const TraceStore store = trace.store();
  EXPECT_EQ(analyse(store).waits->device_idle_ns, 10'000);
}

TEST(Waits, ItemOnACpuTensorIsNoWait) {
  SmallTrace trace;
  trace.step(1, 0, 100).op("aten::item", 10, 5).launched("k", 20, 25, 10, 1);
  const TraceStore store = trace.store();
  EXPECT_EQ(analyse(store).waits->count_in_steps, 0U);
}

TEST(Waits, ACopyWithAPageableSideIsAWait) {
  SmallTrace trace;
  trace.step(1, 0, 100).op("aten::copy_", 10, 60).call("cudaMemcpyAsync", 15, 50, 1);
  trace.copy(CopyDirection::host_to_device, MemoryKind::pageable, MemoryKind::device, 20, 40, 1);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  ASSERT_EQ(results.waits->groups.size(), 1U);
  EXPECT_TRUE(results.waits->groups[0].is_copy);
}

}  // namespace
}  // namespace accel
