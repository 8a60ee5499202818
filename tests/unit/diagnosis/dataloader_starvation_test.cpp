#include "support/synthetic_job.h"

namespace accel {
namespace {

using test::SyntheticJob;

// Five steps of `load_us` in the loader and 40 kernels of 100 us, launched ahead of the device.
SyntheticJob loading_job(std::string_view loader, double load_us, int kernels = 40) {
  SyntheticJob job;
  for (int step = 0; step < 5; ++step) {
    job.begin_step();
    const double start = job.now;
    job.silence(load_us);
    job.range(loader, start, job.now);
    for (int i = 0; i < kernels; ++i) job.launch("aten::mm", "gemm", 20, 100);
    job.end_step();
    job.silence(5);
  }
  return job;
}

constexpr std::string_view kSingle = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
constexpr std::string_view kMulti = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";

TEST(DataloaderStarvation, FiresWithTheIdleTimeInsideTheLoader) {
  const auto outcome = loading_job(kSingle, 12'000).diagnose();
  const Finding* finding = outcome.find("dataloader_starvation");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(&outcome.diagnosis.findings.front(), finding);
  EXPECT_EQ(finding->severity, FindingSeverity::critical);
  // The device still works for about 3.2 ms after the host has launched a step; the loader keeps it waiting for the
  // rest.
  EXPECT_NEAR(finding->cost_ms_per_step, 12 - 3.2, 0.9);
  EXPECT_EQ(outcome.diagnosis.verdict.bound_by, BoundBy::data_loading);
  EXPECT_NE(finding->action.command.find("num_workers"), std::string::npos);
  EXPECT_FALSE(finding->where.empty());
  EXPECT_FALSE(finding->evidence.front().refs.empty());
}

TEST(DataloaderStarvation, IsSilentWhenTheDeviceStillHasWork) {
  const auto outcome = loading_job(kSingle, 2'000).diagnose();
  EXPECT_FALSE(outcome.fires("dataloader_starvation"));
}

TEST(DataloaderStarvation, IsGoneWithoutTheLoaderRange) {
  const auto outcome = loading_job("aten_stage", 12'000).diagnose();
  EXPECT_EQ(outcome.find("dataloader_starvation"), nullptr);
}

TEST(DataloaderStarvation, NamesTheRepairOfItsKind) {
  const auto single = loading_job(kSingle, 12'000).diagnose();
  const auto multi = loading_job(kMulti, 12'000).diagnose();
  ASSERT_NE(single.find("dataloader_starvation"), nullptr);
  ASSERT_NE(multi.find("dataloader_starvation"), nullptr);
  EXPECT_NE(single.find("dataloader_starvation")->action.detail.find("main thread"), std::string::npos);
  EXPECT_NE(multi.find("dataloader_starvation")->action.detail.find("not in this capture"), std::string::npos);
}

TEST(DataloaderStarvation, SuggestsTheWorkersThatTheTimesCallFor) {
  // Loading takes 20 ms and the rest of a step just under 4: six workers keep up, and one is spare.
  const auto outcome = loading_job(kSingle, 20'000).diagnose();
  const Finding* finding = outcome.find("dataloader_starvation");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->action.command.find("min(7,"), std::string::npos) << finding->action.command;
}

TEST(DataloaderStarvation, KnowsARangeThatTheUserNamed) {
  const auto outcome = loading_job("data_loading", 12'000).diagnose();
  EXPECT_TRUE(outcome.fires("dataloader_starvation"));
}

}  // namespace
}  // namespace accel
