#include <gtest/gtest.h>

#include "unit/diagnosis/small_job.h"

namespace accel {
namespace {

TEST(SmallCollectives, counts_those_whose_size_does_not_matter) {
  SmallJob job;
  job.collectives = 20;
  job.bytes = 8192;
  job.transfer_ns = 20'000;
  const Diagnosis diagnosis = job.diagnosis();
  const Finding* finding = find_rule(diagnosis, "small_collectives");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->evidence.at(0).value, 20);
  EXPECT_NEAR(finding->cost_ms_per_step, 0.4, 0.001);
}

TEST(SmallCollectives, large_ones_are_none) {
  SmallJob job;
  job.collectives = 20;
  EXPECT_EQ(find_rule(job.diagnosis(), "small_collectives"), nullptr);
}

TEST(SmallCollectives, a_few_are_no_finding) {
  SmallJob job;
  job.collectives = 3;
  job.bytes = 8192;
  EXPECT_EQ(find_rule(job.diagnosis(), "small_collectives"), nullptr);
}

}  // namespace
}  // namespace accel
