#include "support/synthetic_job.h"

namespace accel {
namespace {

using test::SyntheticJob;

constexpr SyntheticJob::Copy kLogits{
    CopyDirection::device_to_host, MemoryKind::device, MemoryKind::pageable, 60'000'000, 8'000, 7};

SyntheticJob reading_job(const SyntheticJob::Copy& copy) {
  SyntheticJob job;
  for (int step = 0; step < 5; ++step) {
    job.begin_step();
    for (int i = 0; i < 20; ++i) job.launch("aten::mm", "gemm", 10, 200);
    job.copy(copy);
    job.end_step();
    job.silence(5);
  }
  return job;
}

TEST(DeviceToHostCopy, LargeCopiesBackAreNamedWithTheirTime) {
  const auto outcome = reading_job(kLogits).diagnose();
  const Finding* finding = outcome.find("device_to_host_copy");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(&outcome.diagnosis.findings.front(), finding);
  EXPECT_NEAR(finding->cost_ms_per_step, 8, 0.3);
  EXPECT_NE(finding->action.command.find("pin_memory=True"), std::string::npos);
  EXPECT_FALSE(outcome.fires("host_to_device_copy"));
}

TEST(DeviceToHostCopy, AStepOfCopiesBackIsNotCalledIdle) {
  const auto outcome = reading_job(kLogits).diagnose();
  const std::string& sentence = outcome.diagnosis.verdict.sentence;
  EXPECT_NE(sentence.find("copied from the device"), std::string::npos) << sentence;
  EXPECT_EQ(sentence.find("nothing to run"), std::string::npos) << sentence;
}

TEST(DeviceToHostCopy, ALossAStepIsNoFinding) {
  SyntheticJob::Copy loss = kLogits;
  loss.bytes = 4;
  loss.device_us = 1;
  EXPECT_EQ(reading_job(loss).diagnose().find("device_to_host_copy"), nullptr);
}

TEST(DeviceToHostCopy, CopiesBesideKernelsCostNothing) {
  SyntheticJob job;
  for (int step = 0; step < 5; ++step) {
    job.begin_step();
    SyntheticJob::Copy beside = kLogits;
    beside.destination = MemoryKind::pinned;
    beside.device_us = 2'000;
    beside.stream = 20;
    job.launch("aten::mm", "gemm", 10, 200);
    job.copy(beside);
    for (int i = 0; i < 20; ++i) job.launch("aten::mm", "gemm", 10, 200);
    job.end_step();
    job.silence(5);
  }
  EXPECT_FALSE(job.diagnose().fires("device_to_host_copy"));
}

}  // namespace
}  // namespace accel
