#include <gtest/gtest.h>

#include "unit/diagnosis/small_job.h"

namespace accel {
namespace {

TEST(StragglerRank, names_rank_host_and_how_late_in_one_sentence) {
  SmallJob job;
  job.late_rank = 3;
  job.host_late_ns = 10'000'000;
  job.host = "node7";
  const Diagnosis diagnosis = job.diagnosis();
  const Finding* finding = find_rule(diagnosis, "straggler_rank");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(
      finding->title,
      "All-reduce held up by rank 3 on host node7: its host does something outside of every op, 10.0 ms later than "
      "its peers in every step");
  ASSERT_FALSE(finding->where.empty());
  EXPECT_EQ(finding->where[0].rank, 3);
  EXPECT_EQ(finding->where[0].host, "node7");
  EXPECT_EQ(finding->where[0].device, 0);
  EXPECT_EQ(diagnosis.verdict.bound_by, BoundBy::communication);
  EXPECT_TRUE(diagnosis.verdict.sentence.starts_with(finding->title)) << diagnosis.verdict.sentence;
  EXPECT_LT(*finding->gain.step_ms, 19.0);
}

TEST(StragglerRank, is_silent_when_all_arrive_together) {
  EXPECT_EQ(find_rule(SmallJob{}.diagnosis(), "straggler_rank"), nullptr);
}

TEST(StragglerRank, a_lateness_below_a_fiftieth_of_a_step_is_nobodys_fault) {
  SmallJob job;
  job.late_rank = 1;
  job.host_late_ns = 100'000;
  EXPECT_EQ(find_rule(job.diagnosis(), "straggler_rank"), nullptr);
}

TEST(StragglerRank, a_missing_rank_lowers_what_is_claimed) {
  SmallJob job;
  job.late_rank = 3;
  job.host_late_ns = 10'000'000;
  const double sure = find_rule(job.diagnosis(), "straggler_rank")->confidence;
  std::vector<fusion::RankDigest> digests = job.job().set.ranks;
  digests.erase(digests.begin());
  const Diagnosis diagnosis = diagnose_job(fusion::fuse(std::move(digests)));
  const Finding* finding = find_rule(diagnosis, "straggler_rank");
  ASSERT_NE(finding, nullptr);
  EXPECT_LT(finding->confidence, sure);
}

}  // namespace
}  // namespace accel
