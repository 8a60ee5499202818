#include "support/synthetic_job.h"

namespace accel {
namespace {

using test::SyntheticJob;

constexpr std::int64_t kGB = 1'000'000'000;

// At the peak `used` of the `reserved` bytes are in use.
SyntheticJob job_with(std::int64_t used, std::int64_t reserved) {
  SyntheticJob job;
  job.card = 80 * kGB;
  job.reserved = reserved;
  job.allocated = 10 * kGB;
  for (int step = 0; step < 5; ++step) {
    job.begin_step();
    job.allocate(1, used - 10 * kGB);
    for (int i = 0; i < 10; ++i) job.launch("aten::mm", "gemm", 20, 300);
    job.release(1, used - 10 * kGB);
    job.end_step();
  }
  return job;
}

TEST(MemoryFragmentation, IdlePiecesOfANearlyFullCardAreAFinding) {
  const auto outcome = job_with(45 * kGB, 70 * kGB).diagnose();
  const Finding* finding = outcome.find("memory_fragmentation");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, FindingSeverity::warning);
  EXPECT_EQ(finding->gain.memory_bytes, 25 * kGB);
}

TEST(MemoryFragmentation, OnACardWithRoomTheyAreInfo) {
  const auto outcome = job_with(20 * kGB, 40 * kGB).diagnose();
  ASSERT_NE(outcome.find("memory_fragmentation"), nullptr);
  EXPECT_FALSE(outcome.fires("memory_fragmentation"));
}

TEST(MemoryFragmentation, WhatRoundingLeavesIsNothing) {
  EXPECT_EQ(job_with(65 * kGB, 70 * kGB).diagnose().find("memory_fragmentation"), nullptr);
}

TEST(MemoryFragmentation, AForcedDriverCallInEveryStepIsAFinding) {
  SyntheticJob job;
  job.card = 80 * kGB;
  job.reserved = 20 * kGB;
  job.allocated = 10 * kGB;
  for (int step = 0; step < 5; ++step) {
    job.begin_step();
    job.reserved = 20 * kGB;
    job.allocate(1, 1'000'000);
    job.reserved = 25 * kGB;  // 10 GB were free
    job.allocate(2, 5 * kGB);
    for (int i = 0; i < 10; ++i) job.launch("aten::mm", "gemm", 20, 300);
    job.release(2, 5 * kGB);
    job.release(1, 1'000'000);
    job.end_step();
  }
  EXPECT_TRUE(job.diagnose().fires("memory_fragmentation"));
}

}  // namespace
}  // namespace accel
