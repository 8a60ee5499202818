#include "fusion/job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "unit/fusion/captures.h"

namespace accel::fusion {
namespace {

// Offsets to 10 s and drifts to 100 ppm, of a fixed sequence.
std::vector<WrongClock> wrong_clocks(std::size_t ranks) {
  std::vector<WrongClock> clocks;
  std::uint64_t state = 20261129;
  const auto next = [&] {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state >> 40U) / static_cast<double>(1U << 24U) * 2 - 1;
  };
  clocks.reserve(ranks);
  for (std::size_t i = 0; i < ranks; ++i) clocks.push_back({static_cast<std::int64_t>(next() * 1e10), next() * 100});
  return clocks;
}

// How far the recovered clock of a rank is from the one that was set, in the middle of the collectives.
double clock_error_ns(const Job& job, const std::vector<WrongClock>& clocks, std::size_t rank) {
  const auto set_at = [&](std::size_t r, std::int64_t time_ns) {
    // What the clock shows beyond the true time, at a time on that clock.
    const double since = static_cast<double>(time_ns - job.set.ranks[r].time_range.start_ns);
    return static_cast<double>(clocks[r].offset_ns) + since * clocks[r].drift_ppm * 1e-6;
  };
  const HostClock& clock = job.clocks.hosts[job.clocks.host_of_rank[rank]];
  const std::int64_t here = clock.origin_ns;
  const std::int64_t common = job.clocks.common_ns(static_cast<std::uint32_t>(rank), here);
  const double recovered = static_cast<double>(here - common);
  return std::abs(recovered - (set_at(rank, here) - set_at(0, common)));
}

const Straggler* only_straggler(const Job& job) {
  EXPECT_LE(job.stragglers.stragglers.size(), 1U);
  return job.stragglers.stragglers.empty() ? nullptr : &job.stragglers.stragglers.front();
}

// What costs less than 3 % of a step is nobody's fault.
double cost_share(const Job& job) {
  double most = 0;
  for (const Straggler& one : job.stragglers.stragglers)
    most = std::max(most, one.undisturbed_cost.expected_ns / job.stragglers.measured_step_ns);
  return most;
}

void expect_host_straggler(const Job& job) {
  const Straggler* one = only_straggler(job);
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(job.set.rank_of(one->ranks.front()), 1);
  EXPECT_EQ(one->side, LateSide::host);
  EXPECT_EQ(one->pattern, LatePattern::persistent);
  EXPECT_GE(one->lateness_low_ns, 16e6);
  EXPECT_LE(one->lateness_high_ns, 21e6);
  EXPECT_GT(one->captured_cost_ns, 13e6);
  const TimeBand& cost = one->undisturbed_cost;
  EXPECT_LE(cost.low_ns, 6.9e6);
  EXPECT_GE(cost.high_ns, 6.9e6);
  EXPECT_LE(cost.high_ns, 2.001 * cost.low_ns);
  ASSERT_FALSE(one->causes.empty());
  EXPECT_EQ(one->causes.front().kind, LateCause::Kind::host_gap);
  EXPECT_NEAR(one->causes.front().excess_ns(), 20e6, 0.5e6);
  EXPECT_EQ(one->clock_disagrees, 0U);
  EXPECT_GT(one->clock_agrees, 0U);
}

void expect_device_imbalance(const Job& job) {
  const Straggler* one = only_straggler(job);
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(job.set.rank_of(one->ranks.front()), 1);
  EXPECT_EQ(one->side, LateSide::device);
  const TimeBand& cost = one->undisturbed_cost;
  EXPECT_LE(cost.low_ns, 8.74e6);
  EXPECT_GE(cost.high_ns, 8.74e6);
  EXPECT_LE(cost.high_ns, 2.001 * cost.low_ns);
  ASSERT_FALSE(one->causes.empty());
  EXPECT_EQ(one->causes.front().kind, LateCause::Kind::more_kernels);
  EXPECT_NE(one->causes.front().shape.find("4096"), std::string::npos);
  EXPECT_NEAR(one->causes.front().own_count - one->causes.front().peers_count, 40, 0.5);
}

void expect_gloo_straggler(const Job& job) {
  const Straggler* one = only_straggler(job);
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(job.set.rank_of(one->ranks.front()), 2);
  EXPECT_EQ(one->side, LateSide::host);
  EXPECT_NEAR(one->lateness_ns, 30e6, 3e6);
  EXPECT_LE(one->undisturbed_cost.low_ns, 29.1e6);
  EXPECT_GE(one->undisturbed_cost.high_ns, 29.1e6);
}

std::vector<std::int64_t> last_arrivals(const Job& job) {
  std::vector<std::int64_t> ranks;
  ranks.reserve(job.timings.size());
  for (const CollectiveTiming& timing : job.timings) ranks.push_back(job.set.rank_of(timing.last));
  return ranks;
}

TEST(Job, names_the_rank_whose_host_is_late) {
  const auto files = nccl2("host_straggler");
  if (absent(files)) GTEST_SKIP() << "skipped: no ../shared";
  const auto clocks = wrong_clocks(files.size());
  expect_host_straggler(fuse(digests_of(files)));
  const Job moved = fuse(digests_of(files, clocks));
  expect_host_straggler(moved);
  EXPECT_LE(clock_error_ns(moved, clocks, 1), 60e3);
  EXPECT_LE(clock_error_ns(moved, clocks, 1), moved.clocks.hosts[1].residual_ns());
}

TEST(Job, names_the_rank_whose_device_has_more_to_do) {
  const auto files = nccl2("device_imbalance");
  if (absent(files)) GTEST_SKIP() << "skipped: no ../shared";
  const auto clocks = wrong_clocks(files.size());
  expect_device_imbalance(fuse(digests_of(files)));
  const Job moved = fuse(digests_of(files, clocks));
  expect_device_imbalance(moved);
  EXPECT_LE(clock_error_ns(moved, clocks, 1), moved.clocks.hosts[1].residual_ns());
}

TEST(Job, names_nobody_where_nobody_is_late) {
  for (const char* scenario : {"even", "unoverlapped", "fsdp2"}) {
    const auto files = nccl2(scenario);
    if (absent(files)) GTEST_SKIP() << "skipped: no ../shared";
    const auto clocks = wrong_clocks(files.size());
    for (const bool wrong : {false, true}) {
      const Job job = fuse(digests_of(files, wrong ? clocks : std::vector<WrongClock>()));
      EXPECT_LT(cost_share(job), 0.03) << scenario;
      EXPECT_GT(job.stragglers.exposed_ns, 0) << scenario;
      EXPECT_EQ(job.clocks.causality_violated, 0U) << scenario;
      if (!wrong) continue;
      const double most = std::string(scenario) == "unoverlapped" ? 5e3 : 60e3;
      EXPECT_LE(clock_error_ns(job, clocks, 1), most) << scenario;
      EXPECT_LE(clock_error_ns(job, clocks, 1), job.clocks.hosts[1].residual_ns()) << scenario;
    }
  }
}

// The recorder slows rank 0 of fsdp2 so much that it is late in every collective of the recording.
TEST(Job, does_not_blame_a_rank_for_what_its_recording_costs) {
  const auto files = nccl2("fsdp2");
  if (absent(files)) GTEST_SKIP() << "skipped: no ../shared";
  const Job job = fuse(digests_of(files));
  EXPECT_TRUE(job.stragglers.stragglers.empty());
  ASSERT_EQ(job.stragglers.of_recording.size(), 1U);
  EXPECT_EQ(job.stragglers.of_recording.front().ranks.front(), 0U);
  // Estimates of the ranks exclude each other (25 and 55 ms): the job's band reaches over both, and holds the measured
  // step.
  ASSERT_TRUE(job.stragglers.undisturbed_step.has_value());
  EXPECT_LT(job.stragglers.undisturbed_step->low_ns, 34.3e6);
  EXPECT_GT(job.stragglers.undisturbed_step->high_ns, 34.3e6);
  EXPECT_GT(job.stragglers.undisturbed_step->expected_ns, 30e6);
}

TEST(Job, names_the_late_rank_of_collectives_on_the_host) {
  const auto files = ddp("straggler");
  if (absent(files)) GTEST_SKIP() << "skipped: no ../shared";
  expect_gloo_straggler(fuse(digests_of(files)));
  expect_gloo_straggler(fuse(digests_of(files, wrong_clocks(files.size()))));
  const Job even = fuse(digests_of(ddp("even")));
  EXPECT_LT(cost_share(even), 0.03);
}

TEST(Job, finds_the_last_arrivals_of_eight_ranks_on_any_clocks) {
  const auto files = dlrm();
  if (absent(files)) GTEST_SKIP() << "skipped: no ../shared";
  const std::vector<std::int64_t> expected{7, 7, 7, 7, 7, 5, 5, 4};
  EXPECT_EQ(last_arrivals(fuse(digests_of(files))), expected);
  const auto clocks = wrong_clocks(files.size());
  const Job moved = fuse(digests_of(files, clocks));
  EXPECT_EQ(last_arrivals(moved), expected);
  for (std::size_t rank = 1; rank < files.size(); ++rank) {
    EXPECT_LE(clock_error_ns(moved, clocks, rank), 5e3) << rank;
    EXPECT_LE(clock_error_ns(moved, clocks, rank), moved.clocks.hosts[rank].residual_ns()) << rank;
  }
}

TEST(Job, goes_on_without_the_file_of_one_rank_and_names_it) {
  auto files = dlrm();
  if (absent(files)) GTEST_SKIP() << "skipped: no ../shared";
  files.erase(files.begin() + 3);
  const Job job = fuse(digests_of(files));
  EXPECT_EQ(job.set.missing, std::vector<std::int64_t>{3});
  EXPECT_EQ(last_arrivals(job), (std::vector<std::int64_t>{7, 7, 7, 7, 7, 5, 5, 4}));
}

TEST(Job, goes_on_with_a_file_that_was_cut) {
  const auto files = nccl2("host_straggler");
  if (absent(files)) GTEST_SKIP() << "skipped: no ../shared";
  const std::string whole = testing::unpacked(files[1]);
  std::vector<RankDigest> digests = digests_of({files[0]});
  digests.push_back(digest_of_text("cut", whole.substr(0, whole.size() / 2)));
  const Job job = fuse(std::move(digests));
  EXPECT_EQ(job.set.ranks.size(), 2U);
  for (const Straggler& one : job.stragglers.stragglers) EXPECT_EQ(one.ranks.front(), 1U);
}

// One rank's file missing, cut or of other steps, on clocks that disagree: the rest is analysed, and the gap is named.
TEST(Job, names_the_late_rank_and_the_gap_where_the_file_of_another_is_missing_cut_or_of_other_steps) {
  const auto files = ddp("straggler");
  if (absent(files)) GTEST_SKIP() << "skipped: no ../shared";
  const auto clocks = wrong_clocks(files.size());
  const std::vector<RankDigest> whole = digests_of(files, clocks);

  std::vector<RankDigest> missing(whole.begin() + 1, whole.end());
  Job job = fuse(std::move(missing));
  expect_gloo_straggler(job);
  EXPECT_EQ(job.set.missing, std::vector<std::int64_t>{0});

  std::vector<RankDigest> cut = whole;
  const std::string text = with_clock(testing::unpacked(files[3]), clocks[3]);
  cut[3] = digest_of_text("cut", text.substr(0, text.size() / 2));
  EXPECT_FALSE(cut[3].notes.empty());
  job = fuse(std::move(cut));
  ASSERT_FALSE(job.stragglers.stragglers.empty());
  for (const Straggler& one : job.stragglers.stragglers) EXPECT_EQ(job.set.rank_of(one.ranks.front()), 2);

  std::vector<RankDigest> apart = whole;
  for (DigestStep& step : apart[3].steps) step.number += 1000;
  job = fuse(std::move(apart));
  expect_gloo_straggler(job);
  EXPECT_EQ(job.set.apart, std::vector<std::int64_t>{3});
}

TEST(Job, leaves_out_figures_that_no_recording_has) {
  RankDigest a;
  a.source = "a";
  a.rank = 0;
  a.world_size = 2;
  RankDigest b = a;
  b.source = "b";
  b.rank = 1;
  b.steps.emplace_back();
  b.steps.back().host.end_ns = std::int64_t{1} << 60;
  RankDigest no_device = a;
  no_device.time_range = {1'700'000'000'000'000'000, 1'700'000'000'000'000'900};
  no_device.steps.emplace_back();
  no_device.steps.back().host = no_device.time_range;
  EXPECT_EQ(make_rank_set({no_device}).ranks.size(), 1U);
  const RankSet set = make_rank_set({a, b});
  EXPECT_EQ(set.ranks.size(), 1U);
  ASSERT_EQ(set.left_out.size(), 1U);
  EXPECT_EQ(set.left_out[0].reason, "its times or sizes cannot be those of a recording");
}

TEST(Job, keeps_the_files_of_a_rank_that_were_recorded_with_the_others_and_hold_most) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const auto file = [](const char* source, std::int64_t rank, std::int64_t second, std::uint64_t events) {
    RankDigest digest;
    digest.source = source;
    digest.rank = rank;
    digest.world_size = 2;
    digest.time_range = {second * kSecond, (second + 1) * kSecond};
    digest.source_events = events;
    return digest;
  };
  // A piece of an earlier recording, and of the later one everything twice, once of it cut short.
  const RankSet set =
      make_rank_set({file("a piece", 0, 100, 60), file("whole", 0, 116, 9000), file("copy", 1, 116, 8000),
                     file("whole too", 1, 116, 8000), file("cut", 1, 116, 50)});
  ASSERT_EQ(set.ranks.size(), 2U);
  EXPECT_EQ(set.ranks[0].source, "whole");
  EXPECT_EQ(set.ranks[1].source, "copy");
  EXPECT_EQ(set.left_out.size(), 3U);
}

TEST(Job, leaves_out_second_files_of_a_rank_and_files_of_other_jobs) {
  RankDigest a;
  a.source = "a";
  a.rank = 0;
  a.world_size = 2;
  RankDigest b = a;
  b.source = "b";
  b.rank = 1;
  RankDigest again = b;
  again.source = "again";
  again.time_range = {90'000'000'000, 90'000'000'001};
  RankDigest other = a;
  other.source = "other";
  other.world_size = 8;
  RankDigest nameless = a;
  nameless.source = "nameless";
  nameless.rank.reset();
  const RankSet set = make_rank_set({other, again, nameless, b, a});
  ASSERT_EQ(set.ranks.size(), 2U);
  EXPECT_EQ(set.ranks[1].source, "b");
  ASSERT_EQ(set.left_out.size(), 3U);
  std::string reasons;
  for (const LeftOut& one : set.left_out) reasons += one.source + ": " + one.reason + "\n";
  EXPECT_NE(reasons.find("again: a second file of rank 1, recorded 90 s from the others"), std::string::npos)
      << reasons;
  EXPECT_NE(reasons.find("other: it is of a job of 8 ranks, the others are of 2"), std::string::npos) << reasons;
  EXPECT_NE(reasons.find("nameless: it does not say its rank"), std::string::npos) << reasons;
}

}  // namespace
}  // namespace accel::fusion
