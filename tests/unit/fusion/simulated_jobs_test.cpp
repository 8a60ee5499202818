// Verdicts on jobs whose truth is known: tests/support/job_plan.h draws them, simulated_job.h runs them.
// benchmarks/fusion/simulated_jobs.cpp runs more of them.
#include <gtest/gtest.h>

#include "analysis/analysis.h"
#include "base/byte_source.h"
#include "fusion/digest/make_digest.h"
#include "ingest/importer.h"
#include "support/job_verdict.h"
#include "support/simulated_digests.h"
#include "support/simulated_trace.h"

namespace accel::testing {
namespace {

Judgement verdict(const JobPlan& plan, std::string& about) {
  const JobRun run = simulate(plan);
  const double cost = true_cost_ns(plan, run);
  about = describe(plan, cost, run.step_ns);
  return judge(plan, cost, run.step_ns, fusion::fuse(digests_of(plan, run)));
}

TEST(SimulatedJobs, AreNamedRightInNearlyEverySeedAndNobodyInnocentIsNamed) {
  int jobs = 0;
  int right = 0;
  std::string misses;
  for (std::uint64_t seed = 1000; seed < 1150; ++seed) {
    std::string about;
    const Judgement judgement = verdict(plan_job(seed), about);
    EXPECT_FALSE(judgement.wrong_rank) << about << " ->" << judgement.said;
    ++jobs;
    right += judgement.right ? 1 : 0;
    if (!judgement.right) misses += about + " ->" + judgement.said + "\n";
  }
  EXPECT_GE(right * 100, jobs * 99) << misses;
}

// Two processes of gloo's size on a machine that other work shares: hosts are shaken by about as much as one of them is
// late in every step.
JobPlan shaken_job(std::uint64_t seed) {
  JobPlan plan;
  plan.seed = seed;
  plan.ranks = 2;
  plan.per_host = 2;
  plan.steps = 10;
  plan.buckets = 2;
  plan.compute_ms = 2;
  plan.host_ms = 20;
  plan.transfer_ms = 1;
  plan.stall_ms = 4;
  plan.stalls = 3;
  plan.victim = 1;
  return plan;
}

TEST(SimulatedJobs, NameARankThatSleepsInEveryStepOfALoadedMachine) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    JobPlan plan = shaken_job(seed);
    plan.fault = Fault::sleep;
    plan.size_ms = 20;
    const JobRun run = simulate(plan);
    const fusion::Job job = fusion::fuse(digests_of(plan, run));
    ASSERT_FALSE(job.stragglers.stragglers.empty()) << seed;
    const fusion::Straggler& most = job.stragglers.stragglers.front();
    EXPECT_EQ(job.set.rank_of(most.ranks.front()), 1) << seed;
    EXPECT_EQ(most.side, fusion::LateSide::host) << seed;
    EXPECT_GE(most.undisturbed_cost.expected_ns, kWorthNaming * run.step_ns) << seed;
  }
}

TEST(SimulatedJobs, WhoseRanksAreLateByChanceNameNobody) {
  constexpr int kJobs = 1000;
  int named = 0;
  double chance = 0;
  std::string whom;
  for (std::uint64_t seed = 0; seed < kJobs; ++seed) {
    const JobPlan plan = plan_shaken_job(seed);
    const JobRun run = simulate(plan);
    const fusion::Job job = fusion::fuse(digests_of(plan, run));
    const Judgement judgement = judge(plan, 0, run.step_ns, job);
    named += judgement.wrong_rank ? 1 : 0;
    chance += job.stragglers.late_by_chance_ns > 0 ? 1 : 0;
    if (judgement.wrong_rank) whom += describe(plan, 0, run.step_ns) + " ->" + judgement.said + "\n";
  }
  EXPECT_LE(named * 100, kJobs) << whom;
  EXPECT_GE(chance, 0.9 * kJobs);  // and it is said that they come late
}

TEST(SimulatedJobs, OfAThousandRanksAreFused) {
  JobPlan plan;
  plan.seed = 5;
  plan.ranks = 1024;
  plan.fault = Fault::slow_kernels;
  plan.victim = 777;
  plan.size_ms = 10;
  std::string about;
  const Judgement judgement = verdict(plan, about);
  EXPECT_TRUE(judgement.right) << about << " ->" << judgement.said;
}

TEST(SimulatedJobs, ShareEveryDrawWithTheSameJobWithoutItsFault) {
  JobPlan plan = plan_job(3);
  plan.fault = Fault::none;
  const JobRun a = simulate(plan);
  const JobRun b = simulate(plan);
  ASSERT_EQ(a.ranks.size(), b.ranks.size());
  EXPECT_EQ(a.step_ns, b.step_ns);
  EXPECT_EQ(true_cost_ns(plan, a), 0);
  // No rank leaves a collective before the last one has come.
  for (std::size_t i = 0; i < a.ranks[0].collectives.size(); ++i) {
    std::int64_t last = 0;
    for (const RankRun& rank : a.ranks) last = std::max(last, rank.collectives[i].start);
    for (const RankRun& rank : a.ranks) EXPECT_GT(rank.collectives[i].end, last);
  }
}

// The same through files: written as traces, read, analysed, reduced, fused.
TEST(SimulatedJobs, AreNamedRightWhenReadFromTraces) {
  for (const Fault fault : {Fault::none, Fault::sleep, Fault::more_work, Fault::slow_link}) {
    JobPlan plan;
    plan.seed = 40 + static_cast<std::uint64_t>(fault);
    plan.ranks = 4;
    plan.per_host = 2;
    plan.fault = fault;
    plan.victim = 2;
    plan.size_ms = fault == Fault::sleep ? 40 : 12;
    const JobRun run = simulate(plan);
    const double cost = true_cost_ns(plan, run);
    std::vector<fusion::RankDigest> digests;
    for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
      const std::string text = TraceMaker(plan, run.ranks[rank], rank).make();
      const auto store = import_source(memory_source("rank.json", text), {});
      ASSERT_TRUE(store) << store.error().message;
      const auto results = run_analyses(*store, {});
      ASSERT_TRUE(results);
      digests.push_back(fusion::make_digest(*store, *results));
      ASSERT_EQ(digests.back().rank, rank);
      ASSERT_EQ(digests.back().events.size(), run.ranks[rank].collectives.size());
    }
    const Judgement judgement = judge(plan, cost, run.step_ns, fusion::fuse(std::move(digests)));
    EXPECT_TRUE(judgement.right) << describe(plan, cost, run.step_ns) << " ->" << judgement.said;
    EXPECT_FALSE(judgement.wrong_rank);
  }
}

}  // namespace
}  // namespace accel::testing
