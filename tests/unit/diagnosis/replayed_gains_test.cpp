#include "diagnosis/replayed_gains.h"

#include <gtest/gtest.h>

#include "diagnosis/plan.h"
#include "unit/analysis/small_trace.h"

namespace accel {
namespace {

TraceStore job() {
  SmallTrace trace;
  for (int k = 0; k < 3; ++k) {
    const int at = 1'000 * k;
    trace.step(k, at, 1'000).range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 500);
    trace.call("cudaMalloc", at + 600, 200).launched("gemm", at + 850, at + 860, 100, k + 1);
  }
  return trace.store();
}

Finding finding_of(std::string_view rule, TransformationKind kind) {
  Finding finding;
  finding.rule = finding.id = rule;
  finding.severity = FindingSeverity::warning;
  finding.claimed_ns = 500'000;
  finding.remedies = {remedy(kind)};
  return finding;
}

TEST(ReplayedGains, ReplaceWhatTheRuleSaid) {
  const TraceStore store = job();
  const AnalysisResults results = analyse(store);
  const Predictor predictor(store, results);
  std::vector<Finding> findings{finding_of("loader", TransformationKind::data_ready),
                                finding_of("own", TransformationKind::graph)};
  findings[0].gain.step_ms = 0.9;
  findings[1].gain.step_ms = 0.9;
  findings[1].gain.basis = GainBasis::model;
  findings[1].remedies.clear();
  replay_gains(predictor, findings);
  EXPECT_EQ(findings[0].gain.basis, GainBasis::replay);
  EXPECT_NEAR(*findings[0].gain.step_ms, 0.5, 0.001);
  EXPECT_LE(*findings[0].gain.step_low_ms, 0.5);
  EXPECT_GE(*findings[0].gain.step_high_ms, 0.5);
  EXPECT_EQ(findings[1].gain.basis, GainBasis::model);
  EXPECT_EQ(findings[1].gain.step_ms, 0.9);
}

TEST(ReplayedGains, APlanPromisesTheSameTimeOnce) {
  const TraceStore store = job();
  const AnalysisResults results = analyse(store);
  const Predictor predictor(store, results);
  std::vector<Finding> findings{finding_of("loader", TransformationKind::data_ready),
                                finding_of("again", TransformationKind::data_ready),
                                finding_of("allocator", TransformationKind::no_alloc)};
  replay_gains(predictor, findings);
  StepView view;
  view.usable = true;
  view.step_ns = view.step_low_ns = view.step_high_ns = 1e6;
  const auto plan = make_plan(view, findings, &predictor);
  ASSERT_EQ(plan.size(), 3U);
  EXPECT_NEAR(*plan[0].expected_step_ms, 0.5, 0.001);
  EXPECT_NEAR(*plan[1].expected_step_ms, 0.5, 0.001);
  EXPECT_NEAR(*plan[2].expected_step_ms, 0.3, 0.001);
}

}  // namespace
}  // namespace accel
