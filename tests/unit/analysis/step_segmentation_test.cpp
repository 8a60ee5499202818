#include "analysis/step_segmentation.h"

#include "unit/analysis/small_trace.h"

namespace accel {
namespace {

// Four steps of 10 ms on the host, each with one kernel that starts `lag` later with every step.
SmallTrace four_steps(std::int64_t first_lag, std::int64_t growth, std::int64_t kernel_dur) {
  SmallTrace trace;
  for (int k = 0; k < 4; ++k) {
    const std::int64_t start = k * 10'000;
    trace.step(k + 3, start, 10'000);
    trace.launched("kernel", start + 100, start + 100 + first_lag + k * growth, kernel_dur, k + 1);
  }
  return trace;
}

TEST(StepSegmentation, ProfilerStepsAreTheStepsAndKernelsFollowTheirLaunch) {
  SmallTrace trace;
  trace.step(3, 0, 100).step(4, 100, 100);
  trace.launched("late", 90, 150, 10, 1).launched("early", 110, 170, 10, 2);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const StepSegmentation& steps = *results.step_segmentation;
  EXPECT_EQ(steps.source, StepSource::profiler_step);
  ASSERT_EQ(steps.steps.size(), 2U);
  EXPECT_EQ(steps.steps[0].number, 3);
  EXPECT_EQ(steps.complete_count, 2U);
  EXPECT_EQ(steps.step_of_device_event, (std::vector<std::int32_t>{0, 1}));
  ASSERT_EQ(steps.devices.size(), 1U);
  EXPECT_EQ(steps.devices[0].period_ns, (std::vector<std::int64_t>{20'000}));
}

TEST(StepSegmentation, AStepWhoseKernelsWereCutOffIsKeptOutOfAverages) {
  SmallTrace trace;
  trace.step(1, 0, 100).step(2, 100, 100).step(3, 200, 400);
  trace.launched("k", 10, 20, 10, 1).launched("k", 110, 120, 10, 2).call("cudaLaunchKernel", 210, 5, 3);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const StepSegmentation& steps = *results.step_segmentation;
  EXPECT_FALSE(steps.steps[2].complete);
  EXPECT_EQ(steps.complete_count, 2U);
  EXPECT_DOUBLE_EQ(steps.host_mean_ns, 100'000);
  EXPECT_NE(results.notes.find(NoteCode::step_incomplete), nullptr);
}

TEST(StepSegmentation, AnUnfinishedStepIsCut) {
  SmallTrace trace;
  trace.step(1, 0, 100).step(2, 100, -1).launched("k", 10, 20, 10, 1).launched("k", 110, 120, 10, 2);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  EXPECT_TRUE(results.step_segmentation->steps[0].complete);
  EXPECT_FALSE(results.step_segmentation->steps[1].complete);
}

TEST(StepSegmentation, LaunchesOfAGraphCaptureAreNotLost) {
  SmallTrace trace;
  trace.step(1, 0, 100).launched("k", 5, 10, 5, 1);
  trace.call("cudaStreamBeginCapture", 20, 2).call("cudaLaunchKernel", 25, 2, 2).call("cudaStreamEndCapture", 30, 2);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  EXPECT_TRUE(results.step_segmentation->steps[0].complete);
  EXPECT_EQ(results.step_segmentation->steps[0].kernel_launches, 1U);
}

TEST(StepSegmentation, TheHostSetsThePaceWhileTheDeviceKeepsUp) {
  SmallTrace trace = four_steps(50, 0, 2'000);
  const TraceStore store = trace.store();
  EXPECT_EQ(analyse(store).step_segmentation->paced_by, PacedBy::host);
}

TEST(StepSegmentation, AConstantLagOfAMillisecondIsNotTheDevicesPace) {
  SmallTrace trace = four_steps(9'000, 0, 4'000);
  const TraceStore store = trace.store();
  EXPECT_EQ(analyse(store).step_segmentation->paced_by, PacedBy::host);
}

TEST(StepSegmentation, TheDeviceSetsThePaceWhenItsLagGrows) {
  SmallTrace trace = four_steps(50, 4'000, 13'500);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const StepSegmentation& steps = *results.step_segmentation;
  EXPECT_EQ(steps.paced_by, PacedBy::device);
  EXPECT_EQ(steps.pacing_device, 0);
  EXPECT_DOUBLE_EQ(steps.step_mean_ns, 14'000'000);
  EXPECT_EQ(steps.windows_of(0).size(), 3U);
}

TEST(StepSegmentation, TheDeviceSetsThePaceWhenItLagsByMoreThanAStep) {
  SmallTrace trace = four_steps(11'000, 0, 9'900);
  const TraceStore store = trace.store();
  EXPECT_EQ(analyse(store).step_segmentation->paced_by, PacedBy::device);
}

TEST(StepSegmentation, AUserRangeCanMarkTheSteps) {
  SmallTrace trace;
  trace.step(1, 0, 300).range("iteration", 10, 80).range("iteration", 110, 80).launched("k", 20, 30, 5, 1);
  const TraceStore store = trace.store();
  AnalysisOptions options;
  options.step_annotation = "iteration";
  const AnalysisResults results = analyse(store, options);
  EXPECT_EQ(results.step_segmentation->source, StepSource::user_annotation);
  EXPECT_EQ(results.step_segmentation->steps.size(), 2U);
}

TEST(StepSegmentation, WithoutStepMarksAnOptimizerEndsTheStep) {
  SmallTrace trace;
  for (int k = 0; k < 3; ++k) trace.op("aten::mm", k * 100 + 10, 50).range("Optimizer.step#SGD.step", k * 100 + 70, 20);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const StepSegmentation& steps = *results.step_segmentation;
  EXPECT_EQ(steps.source, StepSource::optimizer_step);
  EXPECT_EQ(steps.complete_count, 2U);
  EXPECT_DOUBLE_EQ(steps.host_mean_ns, 100'000);
  EXPECT_TRUE(steps.training);
  EXPECT_NE(results.notes.find(NoteCode::steps_not_marked), nullptr);
}

TEST(StepSegmentation, ElseTheLoaderBeginsTheStep) {
  SmallTrace trace;
  for (int k = 0; k < 3; ++k)
    trace.op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", k * 100, 20)
        .op("aten::mm", k * 100 + 30, 50);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  EXPECT_EQ(results.step_segmentation->source, StepSource::dataloader_next);
  EXPECT_EQ(results.step_segmentation->complete_count, 2U);
  EXPECT_FALSE(results.step_segmentation->training);
}

TEST(StepSegmentation, ElseARepeatingKernelPatternIsTheStep) {
  SmallTrace trace;
  std::int64_t correlation = 1;
  for (int k = 0; k < 5; ++k) {
    for (const char* name : {"embed", "layer", "layer", "layer", "head"}) {
      trace.launched(name, 1000 * k + 20 * correlation % 100, 1000 * k + 20 * correlation % 100 + 5, 10, correlation);
      ++correlation;
    }
  }
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  EXPECT_EQ(results.step_segmentation->source, StepSource::kernel_pattern);
  EXPECT_EQ(results.step_segmentation->complete_count, 4U);
  EXPECT_DOUBLE_EQ(results.step_segmentation->host_mean_ns, 1'000'000);
}

TEST(StepSegmentation, APatternMayBeginWithAPassOfItsOwn) {
  SmallTrace trace;
  std::int64_t correlation = 1;
  for (int k = 0; k < 6; ++k) {
    std::int64_t at = 1000 * k;
    for (const char* name : {"random", "gemm", "relu", "sum", "update"}) {
      if (k == 0 && std::string_view(name) == "update") continue;
      trace.launched(name, at, at + 5, 10, correlation++);
      at += 20;
    }
  }
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  EXPECT_EQ(results.step_segmentation->source, StepSource::kernel_pattern);
  EXPECT_GE(results.step_segmentation->complete_count, 4U);
}

TEST(StepSegmentation, ElseTheWholeWindowIsOneStep) {
  SmallTrace trace;
  trace.op("aten::mm", 0, 50).launched("k", 10, 20, 100, 1);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  EXPECT_EQ(results.step_segmentation->source, StepSource::whole_window);
  ASSERT_EQ(results.step_segmentation->steps.size(), 1U);
  EXPECT_EQ(results.step_segmentation->steps[0].host.length_ns(), 120'000);
}

TEST(StepSegmentation, KernelsBeforeTheFirstStepBelongToNoStep) {
  SmallTrace trace;
  trace.launched("warm-up", 0, 10, 50, 1).step(3, 100, 100).launched("k", 110, 120, 10, 2);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  EXPECT_EQ(results.step_segmentation->step_of_device_event, (std::vector<std::int32_t>{-1, 0}));
}

}  // namespace
}  // namespace accel
