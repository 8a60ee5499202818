#include "support/synthetic_job.h"

namespace accel {
namespace {

using test::SyntheticJob;

constexpr std::int64_t kGB = 1'000'000'000;

SyntheticJob job_of(std::int64_t reserved) {
  SyntheticJob job;
  job.card = 80 * kGB;
  job.reserved = reserved;
  job.allocated = 10 * kGB;
  for (int step = 0; step < 5; ++step) {
    job.begin_step();
    job.allocate(1, reserved - 12 * kGB);
    for (int i = 0; i < 10; ++i) job.launch("aten::mm", "gemm", 20, 300);
    job.release(1, reserved - 12 * kGB);
    job.end_step();
  }
  return job;
}

TEST(MemoryPeak, ANearlyFullCardIsNamedWithWhatFillsIt) {
  const auto outcome = job_of(76 * kGB).diagnose();
  const Finding* finding = outcome.find("memory_peak");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, FindingSeverity::warning);
  EXPECT_EQ(finding->cost_ms_per_step, 0);
  EXPECT_FALSE(finding->evidence.empty());
}

TEST(MemoryPeak, AFullCardIsCritical) {
  const auto outcome = job_of(79 * kGB).diagnose();
  ASSERT_NE(outcome.find("memory_peak"), nullptr);
  EXPECT_EQ(outcome.find("memory_peak")->severity, FindingSeverity::critical);
}

TEST(MemoryPeak, ACardWithRoomIsSilent) { EXPECT_EQ(job_of(70 * kGB).diagnose().find("memory_peak"), nullptr); }

}  // namespace
}  // namespace accel
