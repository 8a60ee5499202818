#include "fusion/rank_plan/rank_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/job_plan.h"
#include "support/simulated_digests.h"

namespace accel::fusion {
namespace {

std::vector<std::int64_t> ranks_of(const RankPlanRequest& request) {
  std::vector<std::int64_t> ranks;
  for (const PlannedRank& one : plan_ranks(request)) ranks.push_back(one.rank);
  return ranks;
}

TEST(RankPlan, holds_first_last_and_both_sides_of_boundaries_between_hosts) {
  EXPECT_EQ(ranks_of({16, 8, 1, 16, {}, {}}), (std::vector<std::int64_t>{0, 7, 8, 15}));
}

TEST(RankPlan, of_a_thousand_ranks_is_a_few_spread_evenly) {
  const auto ranks = ranks_of({1024, 8, 1, 16, {}, {}});
  EXPECT_EQ(ranks.size(), 16U);
  EXPECT_TRUE(std::binary_search(ranks.begin(), ranks.end(), 511));
  EXPECT_TRUE(std::binary_search(ranks.begin(), ranks.end(), 512));
}

TEST(RankPlan, has_one_rank_of_each_stage) {
  const auto ranks = ranks_of({1024, 8, 8, 16, {}, {}});
  for (std::int64_t stage = 0; stage < 8; ++stage)
    EXPECT_TRUE(std::binary_search(ranks.begin(), ranks.end(), stage * 128)) << stage;
}

TEST(RankPlan, holds_every_suspect_and_a_peer_of_its_host_and_stage_whatever_the_limit) {
  const auto plan = plan_ranks({64, 8, 2, 1, {31, 32}, {}});
  const auto reason = [&](std::int64_t rank) {
    const auto at = std::find_if(plan.begin(), plan.end(), [&](const PlannedRank& one) { return one.rank == rank; });
    return at == plan.end() ? std::string() : at->reason;
  };
  EXPECT_EQ(reason(31), "suspected by the digests");
  EXPECT_EQ(reason(32), "suspected by the digests; first rank of pipeline stage 1");
  const auto wide = ranks_of({64, 8, 2, 16, {31, 32}, {}});
  EXPECT_TRUE(std::binary_search(wide.begin(), wide.end(), 30));
  EXPECT_TRUE(std::binary_search(wide.begin(), wide.end(), 33));
}

TEST(RankPlan, takes_stages_as_the_digests_show_them) {
  // Two pipelines of four stages whose ranks do not follow each other.
  RankPlanRequest request{8, 0, 1, 8, {5}, {0, 0, 1, 1, 2, 2, 3, 3}};
  const auto plan = plan_ranks(request);
  const auto reason = [&](std::int64_t rank) {
    const auto at = std::find_if(plan.begin(), plan.end(), [&](const PlannedRank& one) { return one.rank == rank; });
    return at == plan.end() ? std::string() : at->reason;
  };
  EXPECT_EQ(reason(2), "first rank of pipeline stage 1");
  EXPECT_EQ(reason(6), "first rank of pipeline stage 3");
  EXPECT_EQ(reason(4), "peer of rank 5, to compare it with; first rank of pipeline stage 2");
}

TEST(RankPlan, refuses_what_is_no_job) {
  EXPECT_EQ(fault_of({16, 8, 1, 16, {}, {}}), "");
  EXPECT_NE(fault_of({0, 8, 1, 16, {}, {}}), "");
  EXPECT_NE(fault_of({16, 8, 3, 16, {}, {}}), "");
}

TEST(RankPlan, suspects_the_rank_that_digests_show_to_be_late) {
  accel::testing::JobPlan plan;
  plan.seed = 4;
  plan.ranks = 16;
  plan.fault = accel::testing::Fault::more_work;
  plan.victim = 11;
  plan.size_ms = 15;
  const auto run = accel::testing::simulate(plan);
  EXPECT_EQ(suspects_of(fuse(accel::testing::digests_of(plan, run))), std::vector<std::int64_t>{11});
}

}  // namespace
}  // namespace accel::fusion
