#include "analysis/audit.h"

#include "analysis/step_segmentation.h"
#include "unit/analysis/small_trace.h"

namespace accel {
namespace {

std::uint64_t count(const AnalysisResults& results, NoteCode code) {
  const Note* note = results.notes.find(code);
  return note == nullptr ? 0 : note->count;
}

TEST(Audit, ACleanTraceHasNoNotes) {
  SmallTrace trace;
  trace.step(1, 0, 100).launched("k", 10, 20, 10, 1);
  trace.batch().add_thread(1, 1, StringId(), StringId());
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  EXPECT_EQ(results.audit->kernel_launches, 1U);
  for (const Note& note : results.notes.notes()) {
    EXPECT_TRUE(note.code == NoteCode::distortion_unknown || note.code == NoteCode::external_id_missing)
        << describe(note.code).id;
  }
}

TEST(Audit, KernelsFromBeforeTheWindowAreCountedAsSuch) {
  SmallTrace trace;
  trace.kernel("old", 0, 5, 90)
      .kernel("old", 10, 5, 91)
      .kernel("old", 20, 5, 92)
      .step(1, 50, 100)
      .launched("k", 60, 70, 10, 1);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  EXPECT_EQ(count(results, NoteCode::device_without_launch), 3U);
  EXPECT_EQ(results.audit->device_without_launch, 3U);
}

TEST(Audit, AProfilerThatLostTheFirstStepsSaysSo) {
  SmallTrace trace;
  for (int k = 0; k < 5; ++k) {
    trace.step(k + 1, k * 100, 100);
    if (k < 2) {
      trace.call("cudaLaunchKernel", k * 100 + 10, 5, k + 1);
    } else {
      trace.launched("k", k * 100 + 10, k * 100 + 20, 10, k + 1);
    }
  }
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  EXPECT_EQ(count(results, NoteCode::launch_without_device), 2U);
  EXPECT_EQ(results.notes.find(NoteCode::launch_without_device)->where, "step 1");
  EXPECT_EQ(count(results, NoteCode::lost_head), 2U);
  EXPECT_EQ(results.step_segmentation->complete_count, 3U);
}

TEST(Audit, LaunchesWithoutOneDeviceEventPointToPrivileges) {
  SmallTrace trace;
  trace.step(1, 0, 100).call("cudaLaunchKernel", 10, 5, 1).call("cudaLaunchKernel", 20, 5, 2);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  EXPECT_EQ(count(results, NoteCode::kernels_privileges), 2U);
  EXPECT_EQ(count(results, NoteCode::kernels_version_mismatch), 0U);
}

TEST(Audit, ARecorderNewerThanTheDriverIsAVersionMismatch) {
  SmallTrace trace;
  trace.step(1, 0, 100).call("cudaLaunchKernel", 10, 5, 1);
  trace.builder().process().versions = {{"cuda_runtime_version", "13000"}, {"cuda_driver_version", "12040"}};
  const TraceStore store = trace.store();
  EXPECT_EQ(count(analyse(store), NoteCode::kernels_version_mismatch), 1U);
}

TEST(Audit, TrainingWithoutOneCallWasRecordedWithoutDeviceActivity) {
  SmallTrace trace;
  trace.step(1, 0, 100).op("aten::mm", 10, 20).op("AddmmBackward0", 40, 20);
  const TraceStore store = trace.store();
  EXPECT_EQ(count(analyse(store), NoteCode::kernels_activity_off), 1U);
}

TEST(Audit, AProcessThatDoesNeitherLooksLikeALauncher) {
  SmallTrace trace;
  trace.op("aten::empty", 10, 20).frame("torch/distributed/run.py(3): main", 0, 100);
  const TraceStore store = trace.store();
  EXPECT_EQ(count(analyse(store), NoteCode::launcher_process), 1U);
}

TEST(Audit, KernelsOfWarmUpStepsInTheWindowAreListedApart) {
  SmallTrace trace;
  trace.launched("warm-up", 0, 10, 5, 1)
      .launched("warm-up", 20, 30, 5, 2)
      .step(3, 100, 100)
      .launched("k", 110, 120, 10, 3);
  const TraceStore store = trace.store();
  EXPECT_EQ(count(analyse(store), NoteCode::warm_up_in_window), 2U);
}

TEST(Audit, AKernelBeforeItsLaunchIsFlaggedWithTheOffset) {
  SmallTrace trace;
  trace.step(1, 0, 300).launched("k", 200, 100, 10, 1);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  EXPECT_EQ(count(results, NoteCode::kernel_before_launch), 1U);
  EXPECT_EQ(results.audit->largest_start_before_launch_ns, 100'000);
}

TEST(Audit, GraphReplaysAreNamedWithTheirShareOfDeviceTime) {
  SmallTrace trace;
  trace.step(1, 0, 4000).call("cudaGraphLaunch", 10, 5, 7);
  for (int k = 0; k < 300; ++k) trace.kernel("node", 20 + 10 * k, 10, 7, 7, 0, k + 1);
  trace.launched("plain", 3100, 3200, 1000, 8);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  EXPECT_EQ(results.audit->graph_kernels, 300);
  EXPECT_EQ(results.notes.find(NoteCode::graph_replay)->detail.substr(0, 4), "75 %");
}

TEST(Audit, RowsOfTheRecorderAndAFullQueueAreDifferentThings) {
  SmallTrace trace;
  trace.step(1, 0, 100)
      .launched("k", 10, 20, 10, 1)
      .overhead("Activity Buffer Request", 30, 7)
      .overhead("Command Buffer Full", 50, 9);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  EXPECT_EQ(count(results, NoteCode::profiler_overhead), 1U);
  EXPECT_EQ(count(results, NoteCode::launch_queue_full), 1U);
}

TEST(Audit, OverlapsAndCrossingRangesAreCounted) {
  SmallTrace trace;
  trace.step(1, 0, 200).range("a", 10, 50).range("b", 40, 50);
  trace.launched("k", 10, 20, 100, 1).launched("k", 30, 110, 40, 2);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  EXPECT_EQ(results.audit->same_stream_overlaps, 1U);
  EXPECT_EQ(results.audit->crossing_ranges, 1U);
}

TEST(Audit, WholeMicrosecondsAreACoarseClock) {
  SmallTrace trace;
  trace.step(1, 0, 1000);
  for (int k = 0; k < 30; ++k) trace.op("aten::mm", 10 * k, 5);
  const TraceStore store = trace.store();
  EXPECT_GT(count(analyse(store), NoteCode::coarse_clock), 0U);
}

TEST(Audit, RanksOverGlooOnOneDeviceMayShareIt) {
  SmallTrace trace;
  trace.step(1, 0, 100).launched("k", 10, 20, 10, 1).range("gloo:all_reduce", 30, 40, 3);
  trace.builder().process().world_size = 4;
  trace.builder().process().backend = "gloo";
  trace.builder().process().devices.resize(1);
  const TraceStore store = trace.store();
  EXPECT_EQ(count(analyse(store), NoteCode::shared_device), 1U);
}

}  // namespace
}  // namespace accel
