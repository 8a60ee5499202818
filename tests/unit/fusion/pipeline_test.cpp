// Sends and receives: what meets what, and that the stages of a pipeline are not taken for late ranks.
#include "support/pipeline_job.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fusion/job.h"
#include "fusion/rank_set/pipeline_stages.h"

namespace accel::fusion {
namespace {

using testing::PipelineJob;

std::size_t pairs_of(const Job& job) {
  return static_cast<std::size_t>(std::count_if(job.matching.collectives.begin(), job.matching.collectives.end(),
                                                [](const MatchedCollective& one) { return one.sender != kNoRow; }));
}

// Forward and back, from each stage but one, for each replica.
std::size_t pairs_in(const PipelineJob& plan) {
  return static_cast<std::size_t>(plan.steps * plan.micro_batches * 2 * (plan.stages - 1) * plan.replicas);
}

TEST(Pipeline, every_send_meets_its_receive) {
  PipelineJob plan;
  const Job job = fuse(plan.digests());
  EXPECT_EQ(pairs_of(job), pairs_in(plan));
  EXPECT_TRUE(job.matching.divergences.empty());
  for (const MatchedGroup& group : job.matching.groups) EXPECT_EQ(group.unmatched, 0U) << group.name;
  for (const MatchedCollective& one : job.matching.collectives) {
    if (one.sender == kNoRow) continue;
    EXPECT_EQ(one.members.size(), 2U);
    EXPECT_EQ(one.bytes, 8 << 20);
  }
}

TEST(Pipeline, peers_that_are_positions_in_their_group_are_understood) {
  PipelineJob plan;
  plan.positions = true;
  const Job job = fuse(plan.digests());
  EXPECT_EQ(pairs_of(job), pairs_in(plan));
  EXPECT_EQ(job.set.stage[0], 0U);
  EXPECT_EQ(job.set.stage[15], 3U);
}

TEST(Pipeline, a_stage_that_comes_after_the_others_is_not_late) {
  PipelineJob plan;
  const Job job = fuse(plan.digests());
  EXPECT_TRUE(job.stragglers.stragglers.empty());
  EXPECT_EQ(job.set.stage, (std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}));
}

TEST(Pipeline, stages_are_known_where_the_file_of_one_rank_is_missing) {
  PipelineJob plan;
  std::vector<RankDigest> digests = plan.digests();
  digests.erase(digests.begin() + 5);
  const Job job = fuse(std::move(digests));
  EXPECT_EQ(job.set.missing, std::vector<std::int64_t>{5});
  EXPECT_EQ(job.set.stage.back(), 3U);
  EXPECT_EQ(job.set.stage[5], 1U);  // rank 6
  EXPECT_TRUE(job.stragglers.stragglers.empty());
}

TEST(Pipeline, a_slow_rank_is_named_among_those_of_its_stage) {
  PipelineJob plan;
  plan.late_rank = 6;
  const Job job = fuse(plan.digests());
  ASSERT_EQ(job.stragglers.stragglers.size(), 1U);
  const Straggler& one = job.stragglers.stragglers.front();
  EXPECT_EQ(job.set.rank_of(one.ranks.front()), 6);
  EXPECT_EQ(one.side, LateSide::device);
  EXPECT_EQ(one.pattern, LatePattern::persistent);
  ASSERT_FALSE(one.causes.empty());
  EXPECT_EQ(one.causes.front().kind, LateCause::Kind::slower_kernels);
  EXPECT_EQ(one.causes.front().name, "backward");
}

TEST(Pipeline, the_first_send_without_a_receive_is_named) {
  PipelineJob plan;
  plan.one_receive_less = true;
  const Job job = fuse(plan.digests());
  ASSERT_EQ(job.matching.divergences.size(), 1U);
  const Divergence& one = job.matching.divergences.front();
  EXPECT_EQ(one.step, 2);
  EXPECT_EQ(one.ranks, std::vector<std::int64_t>{4});
  EXPECT_EQ(one.index, 3U);
  EXPECT_EQ(one.they_issue, "no further receive from rank 0");
  EXPECT_EQ(one.others_issue, "a send to rank 4 of 8388608 bytes");
}

// Ring attention and halos: each rank sends and receives in one operation, and all do the same work.
TEST(Pipeline, an_exchange_among_equals_has_no_stages) {
  std::vector<RankDigest> digests;
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    RankDigest one;
    one.rank = rank;
    one.world_size = 4;
    one.names = {"send", "recv"};
    one.groups.push_back({"0", "default_pg", {0, 1, 2, 3}});
    one.steps.emplace_back();
    for (const bool send : {true, false}) {
      CommunicationEvent event;
      event.start_ns = 1000;
      event.end_ns = 2000;
      event.name = send ? 0 : 1;
      event.peer = (rank + (send ? 1 : 3)) % 4;
      event.group = 0;
      event.step = 0;
      one.events.push_back(event);
    }
    one.segments.resize(2);
    digests.push_back(std::move(one));
  }
  EXPECT_EQ(pipeline_stages(digests), (std::vector<std::uint32_t>{0, 0, 0, 0}));
  EXPECT_EQ(pairs_of(fuse(std::move(digests))), 4U);
}

}  // namespace
}  // namespace accel::fusion
