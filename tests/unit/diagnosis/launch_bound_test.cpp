#include "support/synthetic_job.h"

namespace accel {
namespace {

using test::SyntheticJob;

SyntheticJob launching_job(double host_us, double kernel_us, int kernels = 200) {
  SyntheticJob job;
  for (int step = 0; step < 5; ++step) {
    job.begin_step();
    for (int i = 0; i < kernels; ++i) job.launch("aten::add", "add", host_us, kernel_us);
    job.end_step();
    job.silence(5);
  }
  return job;
}

TEST(LaunchBound, SmallKernelsThatTheHostCannotKeepUpWith) {
  const auto outcome = launching_job(20, 3).diagnose();
  const Finding* finding = outcome.find("launch_bound");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, FindingSeverity::critical);
  EXPECT_NEAR(finding->cost_ms_per_step, 200 * 0.017, 0.2);
  EXPECT_EQ(outcome.diagnosis.verdict.bound_by, BoundBy::host);
  EXPECT_NE(finding->action.command.find("CUDAGraph"), std::string::npos);
}

TEST(LaunchBound, IsSilentWhenTheDeviceKeepsTheHostWaiting) {
  const auto outcome = launching_job(20, 60).diagnose();
  EXPECT_EQ(outcome.find("launch_bound"), nullptr);
  EXPECT_EQ(outcome.diagnosis.verdict.bound_by, BoundBy::gpu_compute);
}

TEST(LaunchBound, IdleThatTheRecordingMadeIsNotCounted) {
  // Recorded, each round takes 30 us and the device 20; without the recorder's 12.5 us (three ops at 1.5 us and a call
  // at 8) the device sets the pace.
  SyntheticJob job;
  for (int step = 0; step < 5; ++step) {
    job.begin_step();
    for (int i = 0; i < 100; ++i) {
      job.launch("aten::add", "add", 18, 20);
      job.wrapping_ops(1, 12, 1);
    }
    job.end_step();
    job.silence(5);
  }
  const auto outcome = job.diagnose();
  EXPECT_FALSE(outcome.fires("launch_bound"));
  EXPECT_EQ(outcome.diagnosis.verdict.bound_by, BoundBy::gpu_compute);
}

TEST(LaunchBound, AnUnknownCostOfTheRecordingLowersTheConfidenceAndIsSaid) {
  const auto outcome = launching_job(20, 3).diagnose();  // no small ops to measure it on
  const Finding* finding = outcome.find("launch_bound");
  ASSERT_NE(finding, nullptr);
  EXPECT_LT(finding->confidence, 0.6);
  EXPECT_NE(outcome.diagnosis.verdict.sentence.find("not known"), std::string::npos);
}

TEST(LaunchBound, LeavesOnePlaceInPythonAlone) {
  SyntheticJob job;
  for (int step = 0; step < 5; ++step) {
    job.begin_step();
    const double start = job.now;
    job.silence(20'000);
    job.frame("train.py(7): preprocess", start, job.now);
    for (int i = 0; i < 100; ++i) job.launch("aten::add", "add", 20, 15);
    job.end_step();
    job.silence(5);
  }
  const auto outcome = job.diagnose();
  EXPECT_FALSE(outcome.fires("launch_bound"));
  EXPECT_EQ(outcome.diagnosis.verdict.bound_by, BoundBy::host);
  EXPECT_NE(outcome.diagnosis.verdict.sentence.find("train.py(7): preprocess"), std::string::npos);
}

TEST(LaunchBound, LeavesWorkOfCpuOpsAlone) {
  SyntheticJob job;
  for (int step = 0; step < 5; ++step) {
    job.begin_step();
    for (int i = 0; i < 40; ++i) {
      job.cpu_op("aten::div", 900);
      job.launch("aten::add", "add", 20, 15);
    }
    job.end_step();
    job.silence(5);
  }
  const auto outcome = job.diagnose();
  EXPECT_FALSE(outcome.fires("launch_bound"));
  EXPECT_NE(outcome.diagnosis.verdict.sentence.find("aten::div"), std::string::npos);
}

TEST(LaunchBound, TakesOnlyWhatSpecificRulesLeave) {
  SyntheticJob job;
  for (int step = 0; step < 5; ++step) {
    job.begin_step();
    const double start = job.now;
    job.silence(8'000);
    job.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", start, job.now);
    for (int i = 0; i < 200; ++i) job.launch("aten::add", "add", 20, 3);
    job.end_step();
    job.silence(5);
  }
  const auto outcome = job.diagnose();
  ASSERT_NE(outcome.find("dataloader_starvation"), nullptr);
  ASSERT_NE(outcome.find("launch_bound"), nullptr);
  EXPECT_NEAR(outcome.find("dataloader_starvation")->cost_ms_per_step, 8, 0.2);
  EXPECT_NEAR(outcome.find("launch_bound")->cost_ms_per_step, 200 * 0.017, 0.3);
  EXPECT_EQ(outcome.diagnosis.findings.front().rule, "dataloader_starvation");
}

TEST(LaunchBound, AHandfulOfLaunchesIsNoLaunchBoundJob) {
  EXPECT_EQ(launching_job(100, 3, 5).diagnose().find("launch_bound"), nullptr);
}

}  // namespace
}  // namespace accel
