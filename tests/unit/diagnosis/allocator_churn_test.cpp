#include "support/synthetic_job.h"

namespace accel {
namespace {

using test::SyntheticJob;

// Every step waits for the device, gives memory back and asks for it again, as empty_cache() makes it.
SyntheticJob churning_job(int steps_with_calls, bool frees, std::string_view around = {}) {
  SyntheticJob job;
  for (int step = 0; step < 6; ++step) {
    job.begin_step();
    if (step < steps_with_calls) {
      const double start = job.now;
      job.now = std::max(job.now, job.device_free);
      if (frees) job.call("cudaFree", 600);
      job.call("cudaMalloc", 400);
      if (!around.empty()) job.op_between(around, start, job.now + 1);
      job.silence(2);
    }
    for (int i = 0; i < 20; ++i) job.launch("aten::mm", "gemm", 20, 300);
    job.end_step();
    job.silence(5);
  }
  return job;
}

TEST(AllocatorChurn, CostsTheIdleTimeUnderTheCalls) {
  const auto outcome = churning_job(6, true).diagnose();
  const Finding* finding = outcome.find("allocator_churn");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(&outcome.diagnosis.findings.front(), finding);
  EXPECT_NEAR(finding->cost_ms_per_step, 1.0, 0.1);
  EXPECT_NE(finding->action.title.find("empty_cache"), std::string::npos);
}

TEST(AllocatorChurn, FreesInsideOpsAreMemoryPressure) {
  const auto outcome = churning_job(6, true, "aten::empty").diagnose();
  const Finding* finding = outcome.find("allocator_churn");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->action.command.find("expandable_segments"), std::string::npos);
}

TEST(AllocatorChurn, GrowthInTheFirstStepsIsInfoAtMost) {
  EXPECT_FALSE(churning_job(2, false).diagnose().fires("allocator_churn"));
}

TEST(AllocatorChurn, IsGoneWithoutTheCalls) {
  EXPECT_EQ(churning_job(0, true).diagnose().find("allocator_churn"), nullptr);
}

TEST(AllocatorChurn, CallsWhileTheDeviceWorksCostNothing) {
  SyntheticJob job;
  for (int step = 0; step < 6; ++step) {
    job.begin_step();
    for (int i = 0; i < 20; ++i) {
      job.launch("aten::mm", "gemm", 20, 300);
      if (i == 10) job.call("cudaMalloc", 500);
    }
    job.end_step();
    job.silence(5);
  }
  EXPECT_FALSE(job.diagnose().fires("allocator_churn"));
}

}  // namespace
}  // namespace accel
