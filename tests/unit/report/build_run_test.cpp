#include <gtest/gtest.h>

#include <cmath>

#include "analysis/analysis.h"
#include "diagnosis/diagnosis.h"
#include "report/build_document.h"
#include "trace/trace_builder.h"

namespace accel::report {
namespace {

constexpr std::int64_t kMs = 1'000'000;

// Steps of 10 ms; the loss falls from 1 to 0; waits are known of the second half alone. A hole after the first 100.
Document document_of(std::int64_t count) {
  TraceBuilder builder;
  TraceBatch batch;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t step = i < 100 ? i : i + 7;
    batch.run_steps.push({step, step * 10 * kMs, (step + 1) * 10 * kMs, 10 * kMs,
                          i * 2 < count ? kNotRecorded : 2 * kMs, i / 1000,
                          1 - static_cast<double>(i) / static_cast<double>(count), 64, 1});
  }
  builder.commit(batch, 0);
  const TraceStore store = *builder.finish();
  const AnalysisResults results = *run_analyses(store, {});
  return build_document(store, results, diagnose(store, results, {}), {});
}

TEST(BuildRun, a_long_run_becomes_at_most_a_thousand_points_that_stand_for_every_step) {
  const Document document = document_of(25'000);
  ASSERT_TRUE(document.run.has_value());
  const RunCurve& run = *document.run;
  EXPECT_LE(run.points.size(), 1000U);
  EXPECT_EQ(run.steps, 25'000U);
  EXPECT_EQ(run.missing, 7U);
  EXPECT_EQ(run.last_step, 25'006);
  EXPECT_FALSE(run.window_s) << "there is no window";
  std::uint64_t steps = 0;
  for (const RunPoint& point : run.points) {
    steps += point.steps;
    EXPECT_NEAR(point.step_ms, 10, 1e-6) << "the hole is in no point";
  }
  EXPECT_EQ(steps, run.steps);
  EXPECT_FALSE(run.points.front().loader_wait_ms);
  EXPECT_NEAR(*run.points.back().loader_wait_ms, 2, 1e-9);
  EXPECT_NEAR(*run.points.front().samples_s, 6400, 1e-6);
  EXPECT_GT(*run.points.front().loss, *run.points.back().loss);
  EXPECT_EQ(run.points.back().epoch, 24);
}

TEST(BuildRun, without_a_record_of_the_run_it_is_null_with_a_reason) {
  const Document document = document_of(0);
  EXPECT_FALSE(document.run);
  bool said = false;
  for (const NotMeasured& entry : document.not_measured) said |= entry.path == "run";
  EXPECT_TRUE(said);
}

}  // namespace
}  // namespace accel::report
