#include "fusion/clock_alignment/clock_alignment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace accel::fusion {
namespace {

struct Clock {
  double offset_ns = 0;
  double drift = 0;
};

struct Simulation {
  std::size_t ranks = 4;
  std::size_t collectives = 40;
  double apart_ns = 5e6;     // from one to the next
  double jitter_ns = 400;    // of an end
  double wrong_share = 0;    // ends that are off by up to 2 ms
  double missing_share = 0;  // members without a record
  double transfer_ns = 10'000;
  double bias = 0;           // share of the transfer by which the last arriver ends later
  bool always_last = false;  // the last rank is always last
};

// Ranks whose collectives end together but for jitter, seen by wrong clocks. Independent of the estimator.
CollectiveMatching simulate(const Simulation& how, const std::vector<Clock>& clocks, unsigned seed, RankSet& set) {
  std::mt19937 random(seed);
  std::normal_distribution<double> jitter(0, how.jitter_ns);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<RankDigest> digests(how.ranks);
  CollectiveMatching matching;
  matching.groups.emplace_back();
  for (std::size_t k = 0; k < how.collectives; ++k) {
    MatchedCollective one;
    one.name = "all_reduce";
    one.step = 0;
    one.index = static_cast<std::uint32_t>(k);
    const double last_start = 1e9 + how.apart_ns * static_cast<double>(k);
    const std::size_t last =
        how.always_last ? how.ranks - 1 : static_cast<std::size_t>(uniform(random) * static_cast<double>(how.ranks));
    for (std::size_t r = 0; r < how.ranks; ++r) {
      const double early = r == last ? 0 : uniform(random) * 1e6;
      double end = last_start + how.transfer_ns + jitter(random) + (r == last ? how.bias * how.transfer_ns : 0);
      if (uniform(random) < how.wrong_share) end += uniform(random) * 2e6;
      if (uniform(random) < how.missing_share) continue;
      const auto seen = [&](double time) {
        return static_cast<std::int64_t>(std::llround(time + clocks[r].offset_ns + clocks[r].drift * (time - 1e9)));
      };
      CommunicationEvent event;
      event.start_ns = seen(last_start - early);
      event.end_ns = seen(end);
      one.members.push_back({.rank = static_cast<std::uint32_t>(r),
                             .event = static_cast<std::uint32_t>(digests[r].events.size()),
                             .start_ns = event.start_ns,
                             .end_ns = event.end_ns});
      digests[r].events.push_back(event);
      digests[r].segments.emplace_back();
    }
    if (one.members.size() > 1) matching.collectives.push_back(one);
  }
  for (std::size_t r = 0; r < how.ranks; ++r) {
    digests[r].rank = static_cast<std::int64_t>(r);
    digests[r].world_size = static_cast<std::int64_t>(how.ranks);
    if (!digests[r].events.empty()) digests[r].time_range.start_ns = digests[r].events.front().start_ns;
  }
  set = make_rank_set(std::move(digests));
  return matching;
}

std::vector<Clock> clocks_of(std::size_t ranks, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<Clock> clocks;
  for (std::size_t r = 0; r < ranks; ++r) clocks.push_back({uniform(random) * 1e10, uniform(random) * 1e-4});
  return clocks;
}

// Largest error over the ranks, of a true time in the middle, in units of what is stated, and in ns.
std::pair<double, double> errors(const RankSet& set, const ClockAlignment& aligned, const std::vector<Clock>& clocks,
                                 double middle) {
  double in_residuals = 0, in_ns = 0;
  const auto seen = [&](std::size_t r) {
    return static_cast<std::int64_t>(std::llround(middle + clocks[r].offset_ns + clocks[r].drift * (middle - 1e9)));
  };
  const auto common = static_cast<double>(aligned.common_ns(0, seen(0)));
  for (std::size_t r = 1; r < set.ranks.size(); ++r) {
    const double error =
        std::abs(static_cast<double>(aligned.common_ns(static_cast<std::uint32_t>(r), seen(r))) - common);
    in_ns = std::max(in_ns, error);
    in_residuals = std::max(in_residuals, error / aligned.hosts[aligned.host_of_rank[r]].residual_ns());
  }
  return {in_residuals, in_ns};
}

TEST(ClockAlignment, recovers_offsets_to_ten_seconds_and_drift_to_100_ppm) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    const Simulation how;
    RankSet set;
    const auto clocks = clocks_of(how.ranks, seed);
    const auto matching = simulate(how, clocks, seed, set);
    const ClockAlignment aligned = align_clocks(set, matching);
    const auto [relative, ns] = errors(set, aligned, clocks, 1e9 + how.apart_ns * 20);
    EXPECT_LE(ns, 1500) << seed;
    EXPECT_LE(relative, 1) << seed;
    EXPECT_EQ(aligned.causality_violated, 0U) << seed;
  }
}

TEST(ClockAlignment, missing_events_and_wrong_ends_do_not_move_it) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    Simulation how;
    how.wrong_share = 0.05;
    how.missing_share = 0.02;
    RankSet set;
    const auto clocks = clocks_of(how.ranks, seed + 100);
    const auto matching = simulate(how, clocks, seed, set);
    const ClockAlignment aligned = align_clocks(set, matching);
    const auto [relative, ns] = errors(set, aligned, clocks, 1e9 + how.apart_ns * 20);
    EXPECT_LE(ns, 3000) << seed;
    EXPECT_LE(relative, 1) << seed;
  }
}

TEST(ClockAlignment, states_what_a_rank_that_always_arrives_last_hides) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Simulation how;
    how.ranks = 2;
    how.transfer_ns = 300'000;
    how.bias = 0.15;
    how.always_last = true;
    RankSet set;
    const auto clocks = clocks_of(how.ranks, seed + 200);
    const auto matching = simulate(how, clocks, seed, set);
    const ClockAlignment aligned = align_clocks(set, matching);
    const auto [relative, ns] = errors(set, aligned, clocks, 1e9 + how.apart_ns * 20);
    EXPECT_LE(relative, 1) << seed << " " << ns;
  }
}

TEST(ClockAlignment, ranks_of_one_host_share_its_clock) {
  const Simulation how;
  RankSet set;
  std::vector<Clock> clocks = clocks_of(4, 7);
  clocks[1] = clocks[0];
  clocks[3] = clocks[2];
  const auto matching = simulate(how, clocks, 7, set);
  for (std::size_t r = 0; r < 4; ++r) set.ranks[r].host = r < 2 ? "node1" : "node2";
  const ClockAlignment aligned = align_clocks(set, matching);
  ASSERT_EQ(aligned.hosts.size(), 2U);
  EXPECT_EQ(aligned.hosts[1].host, "node2");
  EXPECT_EQ(aligned.error_ns(2, 3), 0);
  EXPECT_LE(errors(set, aligned, clocks, 1e9 + how.apart_ns * 20).second, 1500);
}

TEST(ClockAlignment, a_host_without_a_common_collective_is_not_aligned) {
  Simulation how;
  RankSet set;
  const auto clocks = clocks_of(4, 9);
  auto matching = simulate(how, clocks, 9, set);
  for (MatchedCollective& one : matching.collectives)
    std::erase_if(one.members, [](const Member& m) { return m.rank == 3; });
  const ClockAlignment aligned = align_clocks(set, matching);
  EXPECT_TRUE(aligned.aligned(2));
  EXPECT_FALSE(aligned.aligned(3));
  EXPECT_EQ(aligned.hosts[3].method, "no collective in common with the others");
}

}  // namespace
}  // namespace accel::fusion
