#include "analysis/distortion.h"

#include "analysis/step_segmentation.h"
#include "unit/analysis/small_trace.h"

namespace accel {
namespace {

constexpr std::int64_t kViewNs = 501;

void add_view(SmallTrace& trace, std::string_view name, std::int64_t start_ns, std::int64_t dur_ns) {
  SliceRow row;
  row.start_ns = start_ns;
  row.dur_ns = dur_ns;
  row.name = trace.batch().intern(name);
  row.thread = trace.batch().add_thread(1, SmallTrace::kMain, StringId(), StringId());
  row.kind = SliceKind::op;
  trace.batch().add_slice(row, static_cast<const OpDetailRow*>(nullptr));
}

// Four steps of 10 ms: a kernel, then `ops` views that wrap one more view, with `own_ns` of their own each, 20 us
// apart. Times are odd so that the clock is no coarse one.
SmallTrace job(int ops, std::int64_t own_ns, std::int64_t kernel_us, int first_id = 1) {
  SmallTrace trace;
  for (int k = 0; k < 4; ++k) {
    const std::int64_t start = k * 10'000;
    trace.step(k, start, 10'000).launched("gemm", start + 10, start + 20, kernel_us, first_id + k);
    for (int i = 0; i < ops; ++i) {
      const std::int64_t at = (start + 100 + 20 * i) * 1000;
      add_view(trace, "aten::detach", at, own_ns + kViewNs);
      add_view(trace, "detach", at + own_ns, kViewNs);
    }
  }
  return trace;
}

TEST(Distortion, TheCostOfARecordScalesWithTheWrappingOpsOfThisHost) {
  SmallTrace fast = job(400, 1001, 100);
  SmallTrace slow = job(400, 2001, 100);
  const TraceStore fast_store = fast.store();
  const TraceStore slow_store = slow.store();
  const AnalysisResults a = analyse(fast_store);
  const AnalysisResults b = analyse(slow_store);
  ASSERT_TRUE(a.distortion->record_cost_ns && b.distortion->record_cost_ns);
  EXPECT_NEAR(*b.distortion->record_cost_ns / *a.distortion->record_cost_ns, 2.0, 0.01);
  EXPECT_DOUBLE_EQ(a.distortion->records_per_step, 801);
  EXPECT_DOUBLE_EQ(a.distortion->calls_per_step, 1);
  // A quarter of all stretches up to the last view's end, and of 100 us of the long one after it.
  const double slower = 0.24 * (8'081'502 + 100'000);
  EXPECT_NEAR(a.distortion->undisturbed_step_ns, 10e6 - slower - 801 * 0.7 * 1001 - 2.4 * (5'000 - 4'000), 1'500);
}

TEST(Distortion, AnOpThatDoesMoreThanWrapAnotherIsNoMeasure) {
  SmallTrace trace = job(100, 1001, 100);
  for (int k = 0; k < 4; ++k) {
    for (int i = 0; i < 100; ++i) {
      const std::int64_t at = (k * 10'000 + 4'000 + 20 * i) * 1000;
      add_view(trace, "aten::two_children", at, 301 + 2 * kViewNs);
      add_view(trace, "aten::view", at + 100, kViewNs);
      add_view(trace, "aten::view", at + 200 + kViewNs, kViewNs);
    }
  }
  const TraceStore store = trace.store();
  EXPECT_NEAR(*analyse(store).distortion->record_cost_ns, 0.7 * 1001, 0.01);
}

TEST(Distortion, TheStepIsNeverShorterThanTheDeviceIsBusy) {
  SmallTrace trace = job(450, 12'001, 9'000);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  EXPECT_GE(results.distortion->undisturbed_step_ns, 9e6);
  EXPECT_LE(results.distortion->undisturbed_step_ns, 9.01e6);
}

TEST(Distortion, AHostThatWaitsForTheDeviceWinsNothingFromCheaperRecords) {
  SmallTrace trace = job(100, 2001, 8'000);
  for (int k = 0; k < 4; ++k) trace.call("cudaDeviceSynchronize", k * 10'000 + 3'000, 5'100);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  EXPECT_GT(results.distortion->undisturbed_step_ns, 9.97e6);  // what comes after the wait is a little quicker
}

TEST(Distortion, CallsThatWereNumberedLongBeforeTheWindowTellOfAnEarlierRecording) {
  SmallTrace fresh = job(400, 1001, 100);
  SmallTrace again = job(400, 1001, 100, 1'000);
  const TraceStore fresh_store = fresh.store();
  const TraceStore again_store = again.store();
  const AnalysisResults a = analyse(fresh_store);
  const AnalysisResults b = analyse(again_store);
  EXPECT_FALSE(a.distortion->recorded_before);
  EXPECT_TRUE(b.distortion->recorded_before);
  EXPECT_NEAR(*a.distortion->call_cost_ns, 2'400, 0.01);
  EXPECT_DOUBLE_EQ(*b.distortion->call_cost_ns, 0);
  EXPECT_NEAR(b.distortion->undisturbed_step_ns - a.distortion->undisturbed_step_ns, 2'400, 2);
  EXPECT_DOUBLE_EQ(b.distortion->undisturbed_low_ns, a.distortion->undisturbed_low_ns);
}

TEST(Distortion, ALongCountOfStepsBeforeTheWindowIsNoEarlierRecording) {
  SmallTrace trace;
  for (int k = 100; k < 104; ++k)
    trace.step(k, k * 10'000, 10'000).launched("gemm", k * 10'000 + 10, k * 10'000 + 20, 100, k + 1);
  const TraceStore store = trace.store();
  EXPECT_FALSE(analyse(store).distortion->recorded_before);
}

TEST(Distortion, ADeviceThatSetsThePaceIsItsOwnMeasure) {
  SmallTrace trace;
  for (int k = 0; k < 4; ++k)
    trace.step(k, 10'000 * k, 10'000).launched("gemm", 10'000 * k + 10, 10'100 * k + 4'000 * k + 100, 13'500, k + 1);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  ASSERT_EQ(results.step_segmentation->paced_by, PacedBy::device);
  EXPECT_DOUBLE_EQ(results.distortion->undisturbed_step_ns, results.step_segmentation->step_mean_ns);
  EXPECT_EQ(results.distortion->cost_ns_per_step, 0);
}

TEST(Distortion, WithoutSmallOpsTheCostIsUnknownAndTheBandIsWide) {
  SmallTrace trace = job(4, 2001, 100);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  EXPECT_FALSE(results.distortion->record_cost_ns.has_value());
  EXPECT_NE(results.notes.find(NoteCode::distortion_unknown), nullptr);
  EXPECT_LT(results.distortion->undisturbed_low_ns, 0.5 * results.distortion->measured_step_ns);
}

}  // namespace
}  // namespace accel
