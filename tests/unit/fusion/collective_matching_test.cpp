#include "fusion/collective_matching/collective_matching.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace accel::fusion {
namespace {

struct Issued {
  const char* name;
  std::int64_t bytes;
  std::int64_t sequence = kNotRecorded;
};

// A rank of two that issues these in step 5, 100 us apart.
RankDigest rank_that_issues(std::int64_t rank, const std::vector<Issued>& issued) {
  RankDigest digest;
  digest.rank = rank;
  digest.world_size = 2;
  digest.names = {"all_reduce", "all_gather"};
  digest.groups.push_back({"0", "default_pg", {0, 1}});
  DigestStep step;
  step.number = 5;
  step.host = {0, 1'000'000};
  digest.steps.push_back(step);
  std::int64_t at = 0;
  for (const Issued& one : issued) {
    CommunicationEvent event;
    event.start_ns = at += 100'000;
    event.end_ns = at + 50'000;
    event.launch_ns = at;
    event.sequence = one.sequence;
    event.bytes = one.bytes;
    event.name = std::string(one.name) == "all_reduce" ? 0 : 1;
    event.group = 0;
    event.step = 0;
    digest.events.push_back(event);
  }
  digest.segments.resize(digest.events.size());
  return digest;
}

CollectiveMatching match(const std::vector<Issued>& a, const std::vector<Issued>& b) {
  return match_collectives(make_rank_set({rank_that_issues(0, a), rank_that_issues(1, b)}));
}

TEST(CollectiveMatching, uses_sequence_numbers_that_agree) {
  // Rank 1 misses the first record.
  const auto matching = match({{"all_reduce", 8, 1}, {"all_reduce", 8, 2}, {"all_reduce", 8, 3}},
                              {{"all_reduce", 8, 2}, {"all_reduce", 8, 3}});
  EXPECT_EQ(matching.groups.at(0).method, MatchMethod::sequence);
  ASSERT_EQ(matching.collectives.size(), 2U);
  EXPECT_EQ(matching.collectives[0].members[0].event, 1U);
  EXPECT_EQ(matching.collectives[0].members[1].event, 0U);
  EXPECT_EQ(matching.groups[0].unmatched, 1U);
}

TEST(CollectiveMatching, falls_back_to_order_where_sequence_numbers_count_per_process) {
  const auto matching =
      match({{"all_reduce", 8, 1}, {"all_reduce", 16, 3}}, {{"all_reduce", 8, 2}, {"all_reduce", 16, 4}});
  EXPECT_EQ(matching.groups.at(0).method, MatchMethod::step_order);
  EXPECT_EQ(matching.groups[0].why, "the ranks share no sequence number");
  EXPECT_EQ(matching.collectives.size(), 2U);
}

TEST(CollectiveMatching, never_joins_by_number_what_differs_in_name_or_size) {
  const auto matching =
      match({{"all_reduce", 8, 1}, {"all_gather", 16, 2}}, {{"all_gather", 16, 1}, {"all_reduce", 8, 2}});
  EXPECT_EQ(matching.groups.at(0).method, MatchMethod::step_order);
  for (const MatchedCollective& one : matching.collectives) EXPECT_EQ(one.members.size(), 2U);
}

TEST(CollectiveMatching, a_lost_record_shifts_nothing) {
  const auto matching = match({{"all_reduce", 8}, {"all_reduce", 16}, {"all_gather", 32}, {"all_reduce", 64}},
                              {{"all_reduce", 8}, {"all_gather", 32}, {"all_reduce", 64}});
  ASSERT_EQ(matching.collectives.size(), 3U);
  EXPECT_EQ(matching.collectives[1].bytes, 32);
  ASSERT_EQ(matching.divergences.size(), 1U);
}

TEST(CollectiveMatching, names_the_first_place_where_ranks_part) {
  const auto matching = match({{"all_reduce", 8}, {"all_reduce", 16}, {"all_reduce", 8}},
                              {{"all_reduce", 8}, {"all_gather", 64}, {"all_reduce", 8}});
  ASSERT_EQ(matching.divergences.size(), 1U);
  const Divergence& divergence = matching.divergences[0];
  EXPECT_EQ(divergence.step, 5);
  EXPECT_EQ(divergence.index, 1U);
  EXPECT_EQ(divergence.ranks, std::vector<std::int64_t>{1});
  EXPECT_EQ(divergence.they_issue, "all_gather of 64 bytes");
  EXPECT_EQ(divergence.others_issue, "all_reduce of 16 bytes");
}

TEST(CollectiveMatching, groups_of_one_name_and_other_ranks_are_other_groups) {
  RankDigest a = rank_that_issues(0, {{"all_reduce", 8}});
  RankDigest b = rank_that_issues(1, {{"all_reduce", 8}});
  a.groups[0].ranks = {0, 2};
  b.groups[0].ranks = {1, 3};
  a.world_size = b.world_size = 4;
  const auto matching = match_collectives(make_rank_set({a, b}));
  EXPECT_EQ(matching.groups.size(), 2U);
  EXPECT_TRUE(matching.collectives.empty());
}

}  // namespace
}  // namespace accel::fusion
