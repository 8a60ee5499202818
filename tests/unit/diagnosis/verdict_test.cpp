#include "diagnosis/verdict.h"

#include "support/synthetic_job.h"

namespace accel {
namespace {

using test::SyntheticJob;

const HealthMeasure& measure(const Diagnosis& diagnosis, std::string_view name) {
  const auto found = std::find_if(diagnosis.health.begin(), diagnosis.health.end(),
                                  [&](const HealthMeasure& m) { return m.measure == name; });
  EXPECT_NE(found, diagnosis.health.end());
  return *found;
}

SyntheticJob busy_job(std::string_view op = "aten::mm", bool steps = true) {
  SyntheticJob job;
  for (int step = 0; step < 5; ++step) {
    if (steps) job.begin_step();
    for (int i = 0; i < 50; ++i) job.launch(op, "gemm", 20, 200);
    if (steps) job.end_step();
    job.silence(5);
  }
  return job;
}

TEST(Verdict, ADeviceThatIsAlwaysBusySetsThePace) {
  const auto outcome = busy_job().diagnose();
  EXPECT_EQ(outcome.diagnosis.verdict.bound_by, BoundBy::gpu_compute);
  EXPECT_GT(outcome.diagnosis.verdict.confidence, 0.8);
  EXPECT_TRUE(outcome.diagnosis.plan.empty());
  EXPECT_TRUE(measure(outcome.diagnosis, "kernel_share").ok);
  EXPECT_TRUE(measure(outcome.diagnosis, "idle_share").ok);
}

TEST(Verdict, BoundsOfTheHealthLineCanBeChanged) {
  const auto job = [] {
    SyntheticJob waiting;
    for (int step = 0; step < 5; ++step) {
      waiting.begin_step();
      for (int i = 0; i < 100; ++i) waiting.launch("aten::mm", "gemm", 20, 10);
      waiting.end_step();
      waiting.silence(5);
    }
    return waiting;
  };
  AnalysisOptions loose;
  loose.health_idle_share = 0.6;
  loose.health_kernel_share = 0.4;
  const auto usual = job().diagnose();
  const auto changed = job().diagnose(loose);
  EXPECT_EQ(measure(usual.diagnosis, "idle_share").bound, 0.20);
  EXPECT_FALSE(measure(usual.diagnosis, "idle_share").ok);
  EXPECT_FALSE(measure(usual.diagnosis, "kernel_share").ok);
  EXPECT_TRUE(measure(changed.diagnosis, "idle_share").ok);
  EXPECT_TRUE(measure(changed.diagnosis, "kernel_share").ok);
}

TEST(Verdict, WithoutDeviceWorkNothingIsClaimed) {
  SyntheticJob job;
  for (int step = 0; step < 3; ++step) {
    job.begin_step();
    job.cpu_op("aten::mm", 500);
    job.end_step();
  }
  const auto outcome = job.diagnose();
  EXPECT_EQ(outcome.diagnosis.verdict.bound_by, BoundBy::unknown);
  EXPECT_EQ(outcome.diagnosis.verdict.confidence, 0);
  EXPECT_TRUE(outcome.diagnosis.findings.empty());
  EXPECT_FALSE(measure(outcome.diagnosis, "idle_share").value.has_value()) << "not measured is not 0";
}

TEST(Verdict, AnInferenceCaptureIsSpokenOfWithoutTrainingWords) {
  SyntheticJob job;
  for (int step = 0; step < 5; ++step) {
    job.begin_step();
    for (int i = 0; i < 100; ++i) {
      job.launch("aten::mm", "gemm", 20, 3);
      if (i % 10 == 0) job.wait("aten::_local_scalar_dense");
    }
    job.end_step();
    job.silence(5);
  }
  const auto outcome = job.diagnose();
  std::string text = outcome.diagnosis.verdict.sentence;
  for (const Finding& finding : outcome.diagnosis.findings) {
    text +=
        finding.title + finding.action.title + finding.action.detail + finding.action.command + finding.action.not_when;
    for (const Evidence& evidence : finding.evidence) text += evidence.text;
  }
  ASSERT_GE(outcome.diagnosis.findings.size(), 2U);
  for (const std::string_view word : {"train", "optimizer", "loss", "epoch", "backward", "gradient", " a step "}) {
    EXPECT_EQ(text.find(word), std::string::npos) << word << " in: " << text;
  }
}

TEST(Verdict, ACaptureWithoutStepsIsJudgedAsOneWindow) {
  SyntheticJob job;
  for (int i = 0; i < 50; ++i) job.launch("aten::op" + std::to_string(i), "gemm" + std::to_string(i), 20, 200);
  const auto outcome = job.diagnose();
  EXPECT_EQ(outcome.diagnosis.verdict.bound_by, BoundBy::gpu_compute);
  EXPECT_NE(outcome.diagnosis.verdict.sentence.find("recorded window"), std::string::npos);
}

}  // namespace
}  // namespace accel
