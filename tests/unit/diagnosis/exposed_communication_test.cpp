#include <gtest/gtest.h>

#include "unit/diagnosis/small_job.h"

namespace accel {
namespace {

TEST(ExposedCommunication, counts_transfer_and_not_waiting) {
  SmallJob job;
  job.transfer_ns = 2'000'000;
  job.late_rank = 1;
  job.host_late_ns = 5'000'000;
  const Diagnosis diagnosis = job.diagnosis();
  const Finding* finding = find_rule(diagnosis, "exposed_communication");
  ASSERT_NE(finding, nullptr);
  EXPECT_NEAR(finding->cost_ms_per_step, 2, 0.01);
  ASSERT_NE(find_rule(diagnosis, "straggler_rank"), nullptr);
}

TEST(ExposedCommunication, is_silent_when_compute_hides_it) {
  SmallJob job;
  job.hidden = true;
  EXPECT_EQ(find_rule(job.diagnosis(), "exposed_communication"), nullptr);
}

TEST(ExposedCommunication, findings_of_one_job_never_claim_more_than_the_step) {
  SmallJob job;
  job.collectives = 12;
  job.bytes = 4096;
  job.transfer_ns = 300'000;
  job.late_rank = 1;
  job.host_late_ns = 5'000'000;
  double claimed = 0;
  for (const Finding& finding : job.diagnosis().findings) claimed += finding.cost_ms_per_step;
  EXPECT_LE(claimed, 8 + 5 + 12 * 0.3);
}

}  // namespace
}  // namespace accel
