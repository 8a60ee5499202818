#include "analysis/idle_attribution.h"

#include <numeric>

#include "unit/analysis/small_trace.h"

namespace accel {
namespace {

std::int64_t idle_of(const AnalysisResults& results, IdleCause cause) {
  return results.idle_attribution->devices[0].total[static_cast<std::size_t>(cause)];
}

std::int64_t all_idle(const AnalysisResults& results) {
  const IdleByCause& total = results.idle_attribution->devices[0].total;
  return std::accumulate(total.begin(), total.end(), std::int64_t{0});
}

TEST(IdleAttribution, ABatchThatIsNotThereIsDataLoading) {
  SmallTrace trace;
  trace.step(1, 0, 1000)
      .op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 600)
      .op("aten::stack", 100, 300);
  trace.launched("k", 700, 710, 290, 1);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  EXPECT_EQ(idle_of(results, IdleCause::data_loading), 600'000);
  EXPECT_EQ(idle_of(results, IdleCause::host_compute), 100'000);
  EXPECT_EQ(idle_of(results, IdleCause::launch_latency), 10'000);
  EXPECT_EQ(all_idle(results), 710'000);
  std::int64_t at = 0;
  for (const IdleStretch& stretch : results.idle_attribution->devices[0].stretches) {
    EXPECT_EQ(stretch.time.start_ns, at);
    at = stretch.time.end_ns;
  }
  EXPECT_EQ(at, 710'000);
  EXPECT_EQ(results.notes.find(NoteCode::dataloader_workers_elsewhere), nullptr) << "this loader has no workers";
}

TEST(IdleAttribution, WithoutALaunchOnRecordTheHostsOrdinaryWorkExplainsNothing) {
  SmallTrace trace;
  trace.step(1, 0, 1000)
      .op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 600)
      .op("aten::add", 600, 100);
  trace.kernel("k", 710, 290, 1);
  const AnalysisResults results = analyse(trace.store());
  EXPECT_EQ(idle_of(results, IdleCause::host_compute), 0);
  EXPECT_EQ(idle_of(results, IdleCause::stream_dependency), 0);
}

TEST(IdleAttribution, TimeInAllocationCallsIsMemoryAllocation) {
  SmallTrace trace;
  trace.step(1, 0, 100).op("aten::empty", 10, 40).call("cudaMalloc", 15, 30).launched("k", 60, 70, 30, 1);
  const TraceStore store = trace.store();
  EXPECT_EQ(idle_of(analyse(store), IdleCause::memory_allocation), 30'000);
}

TEST(IdleAttribution, AGapBeforeWorkThatWasAlreadyLaunchedIsAStreamDependency) {
  SmallTrace trace;
  trace.step(1, 0, 100).launched("a", 0, 10, 20, 1, 7).launched("b", 10, 50, 50, 2, 8);
  const TraceStore store = trace.store();
  EXPECT_EQ(idle_of(analyse(store), IdleCause::stream_dependency), 20'000);
}

TEST(IdleAttribution, PageableCopiesAreHostToDeviceCopyFromTheirCallOn) {
  SmallTrace trace;
  trace.step(1, 0, 200).op("aten::copy_", 10, 180).call("cudaMemcpyAsync", 20, 165, 1);
  trace.copy(CopyDirection::host_to_device, MemoryKind::pageable, MemoryKind::device, 80, 100, 1);
  const TraceStore store = trace.store();
  EXPECT_EQ(idle_of(analyse(store), IdleCause::host_to_device_copy), 65'000);
}

TEST(IdleAttribution, HostWorkIsPutOnTheInnermostName) {
  SmallTrace trace;
  trace.step(1, 0, 1000).op("aten::div", 100, 500).launched("k", 800, 805, 195, 1);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const IdleCulprit& first = results.idle_attribution->devices[0].culprits[0];
  EXPECT_EQ(first.cause, IdleCause::host_compute);
  EXPECT_EQ(store.text(first.name), "aten::div");
  EXPECT_EQ(first.idle_ns, 500'000);
  EXPECT_EQ(first.count, 1U);
}

TEST(IdleAttribution, WorkOfAnotherThreadWinsOverAMainThreadThatOnlyWaits) {
  SmallTrace trace;
  trace.step(1, 0, 100)
      .range("backward", 10, 80)
      .op("AddmmBackward0", 20, 50, 2)
      .call("cudaLaunchKernel", 60, 5, 1, 2)
      .kernel("k", 70, 30, 1);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  bool found = false;
  for (const IdleCulprit& culprit : results.idle_attribution->devices[0].culprits) {
    found |= store.text(culprit.name) == "AddmmBackward0" && culprit.idle_ns == 40'000;
  }
  EXPECT_TRUE(found);
}

TEST(IdleAttribution, AHeadThatMayHideARunningKernelIsUnknown) {
  SmallTrace trace;
  trace.step(1, 0, 10'000).launched("k", 10, 5'000, 5'000, 1).kernel("warm-up", 4'000, 500, 99);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  EXPECT_EQ(idle_of(results, IdleCause::unknown), 4'000'000);
  EXPECT_NE(results.notes.find(NoteCode::blind_head), nullptr);
}

TEST(IdleAttribution, GarbageCollectionIsSeenInFrames) {
  SmallTrace trace;
  trace.step(1, 0, 100)
      .frame("train.py(3): loop", 0, 100)
      .frame("<built-in method collect of module object at 0x7f>", 20, 30);
  trace.launched("k", 60, 65, 35, 1);
  const TraceStore store = trace.store();
  EXPECT_EQ(idle_of(analyse(store), IdleCause::garbage_collection), 30'000);
}

TEST(IdleAttribution, WithoutHostRecordsTheCauseIsUnknown) {
  SmallTrace trace;
  trace.kernel("a", 0, 10, 1).kernel("b", 30, 10, 2);
  const TraceStore store = trace.store();
  EXPECT_EQ(idle_of(analyse(store), IdleCause::unknown), 20'000);
}

}  // namespace
}  // namespace accel
