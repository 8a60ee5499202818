#include "support/synthetic_job.h"

namespace accel {
namespace {

using test::SyntheticJob;

constexpr std::int64_t kGB = 1'000'000'000;

enum class Kept { nothing, everything, every_other };

SyntheticJob job_that_keeps(Kept kept, std::int64_t bytes) {
  SyntheticJob job;
  job.card = 80 * kGB;
  job.reserved = 60 * kGB;
  job.allocated = 10 * kGB;
  for (int step = 0; step < 8; ++step) {
    job.begin_step();
    job.allocate(100 + step, bytes);
    for (int i = 0; i < 10; ++i) job.launch("aten::mm", "gemm", 20, 300);
    if (kept == Kept::nothing) job.release(100 + step, bytes);
    // Shapes that vary: the level rises and falls again.
    if (kept == Kept::every_other && step % 2 == 1) {
      job.release(100 + step, bytes);
      job.release(99 + step, bytes);
    }
    job.end_step();
  }
  return job;
}

TEST(MemoryGrowth, WhatNobodyLetsGoOfIsALeak) {
  const auto outcome = job_that_keeps(Kept::everything, 10'000'000).diagnose();
  const Finding* finding = outcome.find("memory_growth");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, FindingSeverity::warning);  // 7,000 steps of room
}

TEST(MemoryGrowth, AFastLeakIsCritical) {
  const auto outcome = job_that_keeps(Kept::everything, 400'000'000).diagnose();
  ASSERT_NE(outcome.find("memory_growth"), nullptr);
  EXPECT_EQ(outcome.find("memory_growth")->severity, FindingSeverity::critical);
}

TEST(MemoryGrowth, IsSilentWhenEveryStepGivesBackWhatItTook) {
  EXPECT_EQ(job_that_keeps(Kept::nothing, 10'000'000).diagnose().find("memory_growth"), nullptr);
}

TEST(MemoryGrowth, ALevelThatMovesBothWaysIsNoLeak) {
  EXPECT_EQ(job_that_keeps(Kept::every_other, 10'000'000).diagnose().find("memory_growth"), nullptr);
}

TEST(MemoryGrowth, ALittleIsNothing) {
  EXPECT_EQ(job_that_keeps(Kept::everything, 4096).diagnose().find("memory_growth"), nullptr);
}

}  // namespace
}  // namespace accel
