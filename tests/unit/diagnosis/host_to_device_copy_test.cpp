#include "support/synthetic_job.h"

namespace accel {
namespace {

using test::SyntheticJob;

SyntheticJob copying_job(const SyntheticJob::Copy& copy, int kernels, double kernel_us, double host_us = 10) {
  SyntheticJob job;
  for (int step = 0; step < 5; ++step) {
    job.begin_step();
    job.copy(copy);
    for (int i = 0; i < kernels; ++i) job.launch("aten::mm", "gemm", host_us, kernel_us);
    job.end_step();
    job.silence(5);
  }
  return job;
}

constexpr SyntheticJob::Copy kPageable{
    CopyDirection::host_to_device, MemoryKind::pageable, MemoryKind::device, 80'000'000, 10'000, 7};
constexpr SyntheticJob::Copy kPinned{
    CopyDirection::host_to_device, MemoryKind::pinned, MemoryKind::device, 80'000'000, 2'000, 7};

TEST(HostToDeviceCopy, PageableCopiesAreToBePinned) {
  const auto outcome = copying_job(kPageable, 20, 200).diagnose();
  const Finding* finding = outcome.find("host_to_device_copy");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(&outcome.diagnosis.findings.front(), finding);
  EXPECT_NEAR(finding->cost_ms_per_step, 10, 0.3);
  EXPECT_NE(finding->action.command.find("pin_memory"), std::string::npos);
  EXPECT_EQ(outcome.diagnosis.verdict.bound_by, BoundBy::data_loading);
  EXPECT_FALSE(outcome.fires("implicit_sync")) << "the wait belongs to the copy";
}

TEST(HostToDeviceCopy, PinnedButExposedCopiesAreToBeOverlapped) {
  const auto outcome = copying_job(kPinned, 20, 200).diagnose();
  const Finding* finding = outcome.find("host_to_device_copy");
  ASSERT_NE(finding, nullptr);
  EXPECT_NEAR(finding->cost_ms_per_step, 2, 0.2);
  EXPECT_NE(finding->action.command.find("torch.cuda.Stream"), std::string::npos);
}

TEST(HostToDeviceCopy, CopiesBesideKernelsCostNothing) {
  SyntheticJob::Copy beside = kPinned;
  beside.stream = 20;
  const auto outcome = copying_job(beside, 20, 200).diagnose();
  EXPECT_FALSE(outcome.fires("host_to_device_copy"));
}

TEST(HostToDeviceCopy, PinnedCopiesOfAHostBoundJobCostNothing) {
  // The device idles for most of the step: hiding 0.5 ms of copy would only make it wait longer.
  SyntheticJob::Copy small = kPinned;
  small.device_us = 500;
  const auto outcome = copying_job(small, 100, 5, 100).diagnose();
  EXPECT_FALSE(outcome.fires("host_to_device_copy"));
}

TEST(HostToDeviceCopy, SmallCopiesAreNoFinding) {
  SyntheticJob::Copy label = kPageable;
  label.bytes = 512;
  label.device_us = 2;
  EXPECT_EQ(copying_job(label, 20, 200).diagnose().find("host_to_device_copy"), nullptr);
}

}  // namespace
}  // namespace accel
