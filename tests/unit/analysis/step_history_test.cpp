#include "analysis/step_history.h"

#include <cmath>

#include "analysis/step_segmentation.h"
#include "unit/analysis/small_trace.h"

namespace accel {
namespace {

// Host-paced steps of these durations, in us, each with one kernel.
SmallTrace steps_of(const std::vector<std::int64_t>& durations) {
  SmallTrace trace;
  std::int64_t start = 0;
  for (std::size_t k = 0; k < durations.size(); ++k) {
    trace.step(static_cast<int>(k), start, durations[k]);
    trace.launched("kernel", start + 10, start + 20, 50, static_cast<std::int64_t>(k) + 1);
    start += durations[k];
  }
  return trace;
}

StepHistory history_of(const std::vector<std::int64_t>& durations) {
  const TraceStore store = steps_of(durations).store();
  return *analyse(store).step_history;
}

std::vector<std::uint32_t> slow_steps(const StepHistory& history) {
  std::vector<std::uint32_t> steps;
  for (const SlowStep& slow : history.slow) steps.push_back(slow.step);
  return steps;
}

TEST(StepHistory, ASlowMinorityOfFewStepsIsSeenWithItsPattern) {
  const StepHistory history = history_of({14800, 3800, 3500, 3500, 15000, 2600, 2300, 2400});
  EXPECT_EQ(slow_steps(history), (std::vector<std::uint32_t>{0, 4}));
  ASSERT_TRUE(history.pattern.has_value());
  EXPECT_EQ(history.pattern->every, 4);
  EXPECT_NEAR(history.usual_ns, 3.05e6, 0.1e6);
  EXPECT_TRUE(history.changes.empty());
}

TEST(StepHistory, OrdinaryNoiseIsNoOutlier) {
  EXPECT_TRUE(history_of({4230, 4320, 4080, 3390, 3800}).slow.empty());
  EXPECT_TRUE(history_of({2000, 2260, 2910, 3580, 2010}).slow.empty());
  EXPECT_TRUE(history_of({1650, 1660, 1120, 1130}).slow.empty());  // two against two: neither is the odd one
  EXPECT_TRUE(history_of({1000, 9000, 1000}).slow.empty());        // three steps have no rest
}

TEST(StepHistory, SlowStepsAtNoFixedDistanceHaveNoPattern) {
  const StepHistory history =
      history_of({1000, 1010, 3000, 990, 1000, 1020, 1000, 3100, 980, 1000, 3050, 1000, 1000, 1010, 1000});
  EXPECT_EQ(history.slow.size(), 3U);
  EXPECT_FALSE(history.pattern.has_value());
}

TEST(StepHistory, AChangeOfPaceNamesItsStep) {
  std::vector<std::int64_t> durations;
  for (int k = 0; k < 30; ++k) durations.push_back((k < 18 ? 1000 : 1400) + (k * 37) % 40);
  durations[5] = 5000;
  const StepHistory history = history_of(durations);
  ASSERT_EQ(history.changes.size(), 1U);
  EXPECT_EQ(history.changes[0].step, 18U);
  EXPECT_NEAR(history.changes[0].before_ns, 1.02e6, 0.03e6);
  EXPECT_NEAR(history.changes[0].after_ns, 1.42e6, 0.03e6);
  EXPECT_EQ(slow_steps(history), (std::vector<std::uint32_t>{5}));
  EXPECT_FALSE(history.drift.has_value());
}

TEST(StepHistory, EightStepsAreTooFewToNameAChange) {
  EXPECT_TRUE(history_of({1000, 1000, 1010, 1000, 1500, 1510, 1500, 1500}).changes.empty());
}

TEST(StepHistory, DriftIsTheSlopeThatMostPairsShare) {
  std::vector<std::int64_t> durations;
  for (int k = 0; k < 40; ++k) durations.push_back(1000 + 5 * k + (k * 13) % 17);
  const StepHistory history = history_of(durations);
  ASSERT_TRUE(history.drift.has_value());
  EXPECT_NEAR(history.drift->ns_per_step, 5000, 500);
}

TEST(StepHistory, ThousandsOfStepsWithEveryHundredthSlow) {
  std::vector<std::int64_t> durations;
  for (int k = 0; k < 5000; ++k) durations.push_back(k % 100 == 7 ? 2500 : 1000 + (k * 7919) % 60);
  const StepHistory history = history_of(durations);
  EXPECT_EQ(history.slow.size(), 50U);
  ASSERT_TRUE(history.pattern.has_value());
  EXPECT_EQ(history.pattern->every, 100);
  EXPECT_TRUE(history.changes.empty());
  EXPECT_FALSE(history.drift.has_value());
}

TEST(StepClasses, AStepThatCompilesAndLoadsCodeIsWarmUpAndKeptOutOfTheMean) {
  SmallTrace trace = steps_of({90'000, 1000, 1000, 1000, 1000});
  for (int k = 0; k < 4; ++k) trace.overhead("Lazy Function Loading", 1000 + k * 100, 50);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  EXPECT_EQ(results.step_segmentation->steps[0].step_class, StepClass::warmup);
  EXPECT_FALSE(results.step_segmentation->steps[0].complete);
  EXPECT_DOUBLE_EQ(results.step_segmentation->step_mean_ns, 1e6);
  EXPECT_NE(results.notes.find(NoteCode::warm_up_in_window), nullptr);
  EXPECT_EQ(results.notes.find(NoteCode::step_incomplete), nullptr);
}

TEST(StepClasses, ASlowFirstStepWithoutSuchWorkIsNot) {
  const TraceStore store = steps_of({90'000, 1000, 1000, 1000, 1000}).store();
  const AnalysisResults results = analyse(store);
  EXPECT_EQ(results.step_segmentation->steps[0].step_class, StepClass::train);
  EXPECT_EQ(slow_steps(*results.step_history), (std::vector<std::uint32_t>{0}));
}

TEST(StepClasses, EvaluationAccumulationAndCheckpointsAreToldApart) {
  SmallTrace trace = steps_of({1000, 1000, 1000, 1000, 1000, 1000, 3000, 1000});
  for (int k = 0; k < 8; ++k) {
    const std::int64_t start = k < 7 ? k * 1000 : 9000;
    if (k != 5) trace.op("AddmmBackward0", start + 100, 50);
    if (k != 5 && k % 2 == 0) trace.range("Optimizer.step#AdamW.step", start + 200, 50);
  }
  trace.frame("torch/serialization.py(800): save", 6500, 2000);
  const TraceStore store = trace.store();
  const StepSegmentation steps = *analyse(store).step_segmentation;
  const auto class_at = [&](std::size_t k) { return to_string(steps.steps[k].step_class); };
  EXPECT_EQ(class_at(0), "train");
  EXPECT_EQ(class_at(1), "accumulation");
  EXPECT_EQ(class_at(5), "evaluation");
  EXPECT_EQ(class_at(6), "checkpoint");
}

}  // namespace
}  // namespace accel
