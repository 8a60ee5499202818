#include <gtest/gtest.h>

#include "unit/diagnosis/small_job.h"

namespace accel {
namespace {

TEST(CollectiveImbalance, names_the_kernels_that_only_one_rank_runs) {
  SmallJob job;
  job.late_rank = 2;
  job.device_late_ns = 6'000'000;
  const Diagnosis diagnosis = job.diagnosis();
  const Finding* finding = find_rule(diagnosis, "collective_imbalance");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(find_rule(diagnosis, "straggler_rank"), nullptr);
  EXPECT_EQ(finding->where.at(0).rank, 2);
  EXPECT_EQ(finding->where.at(0).name, "extra");
  EXPECT_NEAR(finding->cost_ms_per_step, 6, 0.5);
}

TEST(CollectiveImbalance, is_silent_when_the_host_is_late) {
  SmallJob job;
  job.late_rank = 2;
  job.host_late_ns = 6'000'000;
  EXPECT_EQ(find_rule(job.diagnosis(), "collective_imbalance"), nullptr);
}

}  // namespace
}  // namespace accel
