#include "analysis/step_graph/host_pace.h"

#include <array>

#include "analysis/step_graph/replay.h"
#include "analysis/step_graph/undisturbed.h"
#include "unit/analysis/small_trace.h"

namespace accel {
namespace {

constexpr int kOps = 40;

// Steps of ops back to back, each as long as `op_us` of its step says, and once an op of another name.
template <std::size_t kSteps>
TraceStore steps_of(const std::array<int, kSteps>& op_us, int other_us = 0, std::size_t other_step = 0) {
  SmallTrace trace;
  std::int64_t at = 0;
  for (std::size_t k = 0; k < kSteps; ++k) {
    const int other = k == other_step ? other_us : 0;
    trace.step(static_cast<int>(k), at, kOps * op_us[k] + other);
    for (int i = 0; i < kOps; ++i) trace.op("aten::add", at + i * op_us[k], op_us[k]);
    if (other > 0) trace.op("aten::sort", at + kOps * op_us[k], other);
    at += kOps * op_us[k] + other;
  }
  return trace.store();
}

double undisturbed_ns(const StepGraph& graph) {
  RecordingCost cost;
  cost.unrest = 1;
  return replay(without_recording(graph, cost)).step_ns;
}

TEST(HostPace, AStepWhoseShortStretchesAllTakeLongerIsBroughtToThePaceOfTheOthers) {
  const TraceStore store = steps_of<4>({10, 10, 20, 10});
  const AnalysisResults results = analyse(store);
  EXPECT_DOUBLE_EQ(replay(*results.step_graph).step_ns, 500'000);
  EXPECT_NEAR(undisturbed_ns(*results.step_graph), 400'000, 1);
}

TEST(HostPace, OneQuickStepIsNotThePaceOfTheOthers) {
  const TraceStore store = steps_of<5>({10, 10, 5, 10, 10});
  EXPECT_NEAR(undisturbed_ns(*analyse(store).step_graph), 360'000, 1);
}

TEST(HostPace, WhatOneStepDoesMoreThanTheOthersStays) {
  const TraceStore store = steps_of<4>({10, 10, 10, 10}, 90, 2);
  EXPECT_NEAR(undisturbed_ns(*analyse(store).step_graph), 422'500, 1);
}

TEST(HostPace, AStallInOnePlaceIsTheJobs) {
  SmallTrace trace;
  std::int64_t at = 0;
  for (int k = 0; k < 4; ++k) {
    const int stall = k == 1 ? 50'000 : 0;
    trace.step(k, at, 10 * kOps + stall);
    for (int i = 0; i < kOps; ++i)
      trace.op("aten::add", at + 10 * i + (i > kOps / 2 ? stall : 0), 10 + (i == kOps / 2 ? stall : 0));
    at += 10 * kOps + stall;
  }
  const TraceStore store = trace.store();
  // Of the stall itself only what a short stretch may last is looked at.
  EXPECT_NEAR(undisturbed_ns(*analyse(store).step_graph), 400'000 + 12'500'000, 30'000);
}

TEST(HostPace, TwoStepsDoNotTellWhichIsTheSlowOne) {
  const TraceStore store = steps_of<2>({10, 20});
  EXPECT_NEAR(undisturbed_ns(*analyse(store).step_graph), 600'000, 1);
}

TEST(HostPace, StepsThatDoDifferentThingsAreNotCompared) {
  SmallTrace trace;
  std::int64_t at = 0;
  constexpr std::array kNames{"aten::add", "aten::mul", "aten::sub"};
  for (int k = 0; k < 3; ++k) {
    const int us = 10 * (k + 1);
    trace.step(k, at, kOps * us);
    for (int i = 0; i < kOps; ++i) trace.op(kNames[static_cast<std::size_t>(k)], at + us * i, us);
    at += kOps * us;
  }
  const TraceStore store = trace.store();
  EXPECT_NEAR(undisturbed_ns(*analyse(store).step_graph), 800'000, 1);
}

}  // namespace
}  // namespace accel
