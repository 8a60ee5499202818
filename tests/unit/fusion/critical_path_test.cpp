// The critical path over all ranks and the step without a delay, on simulated jobs whose truth is known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "fusion/critical_path/job_replay.h"
#include "fusion/job.h"
#include "support/pipeline_job.h"
#include "support/simulated_digests.h"
#include "unit/fusion/captures.h"

namespace accel::fusion {
namespace {

using testing::Fault;
using testing::JobPlan;

JobPlan late_device(bool overlapped) {
  JobPlan plan;
  plan.seed = 21;
  plan.ranks = 16;
  plan.fault = Fault::more_work;
  plan.victim = 9;
  plan.size_ms = 15;
  plan.overlapped = overlapped;
  return plan;
}

void expect_sound(const Job& job) {
  ASSERT_FALSE(job.path.empty());
  for (const PathStep& step : job.path) {
    double sum = 0;
    for (const PathPart& part : step.parts) {
      sum += part.ns;
      EXPECT_GE(part.ns, 0);
    }
    EXPECT_NEAR(sum, step.path_ns, 1);
  }
}

TEST(JobPath, adds_up_to_the_steps_and_lies_on_the_late_rank_whatever_the_clocks_show) {
  for (const bool overlapped : {false, true}) {
    const JobPlan plan = late_device(overlapped);
    const auto run = testing::simulate(plan);
    const Job job = fuse(testing::digests_of(plan, run));
    expect_sound(job);
    double mean = 0;
    for (const PathStep& step : job.path) {
      mean += step.path_ns / static_cast<double>(job.path.size());
      ASSERT_FALSE(step.parts.empty());
      EXPECT_EQ(step.parts.front().rank, 9U);
    }
    EXPECT_NEAR(mean, run.step_ns, 0.03 * run.step_ns);
  }
}

TEST(JobPath, of_a_pipeline_goes_through_sends_and_receives) {
  testing::PipelineJob plan;
  const Job job = fuse(plan.digests());
  expect_sound(job);
  // The last stage works longest and is on the path of every step.
  for (const PathStep& step : job.path) {
    EXPECT_TRUE(std::any_of(step.parts.begin(), step.parts.end(),
                            [](const PathPart& part) { return part.rank != kNoRow && part.rank >= 12; }));
  }
}

TEST(JobPath, adds_up_for_a_real_job) {
  const auto files = nccl2("host_straggler");
  if (absent(files)) GTEST_SKIP() << "skipped: no ../shared";
  const Job job = fuse(digests_of(files));
  expect_sound(job);
  for (const PathStep& step : job.path) {
    EXPECT_EQ(step.parts.front().rank, 1U);
    EXPECT_NEAR(step.path_ns, job.stragglers.measured_step_ns, 0.08 * job.stragglers.measured_step_ns);
  }
}

TEST(JobReplay, of_a_job_without_its_late_rank_takes_what_the_sound_job_takes) {
  for (const bool overlapped : {false, true}) {
    const JobPlan plan = late_device(overlapped);
    const auto run = testing::simulate(plan);
    const double cost = testing::true_cost_ns(plan, run);
    const Job job = fuse(testing::digests_of(plan, run));
    ASSERT_EQ(job.stragglers.stragglers.size(), 1U);
    EXPECT_NEAR(job.stragglers.stragglers.front().replayed_cost_ns, cost, 0.2 * cost) << overlapped;
  }
}

TEST(JobReplay, saves_nothing_where_nobody_is_late) {
  JobPlan plan = late_device(true);
  plan.fault = Fault::none;
  const auto run = testing::simulate(plan);
  const RankSet set = make_rank_set(testing::digests_of(plan, run));
  const CollectiveMatching matching = match_collectives(set);
  double saved = 0;
  for (const SavedStep& step : replay_without_delay(set, matching, index_matching(set, matching), {3}))
    saved += step.ns / plan.steps;
  EXPECT_LT(saved, 0.01 * run.step_ns);
}

}  // namespace
}  // namespace accel::fusion
