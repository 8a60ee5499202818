#include "support/synthetic_job.h"

namespace accel {
namespace {

using test::SyntheticJob;

SyntheticJob chain(int passes, double us) {
  SyntheticJob job;
  job.on_h200();
  for (int step = 0; step < 4; ++step) {
    job.begin_step();
    for (int i = 0; i < 4; ++i) {
      job.launch_shaped({.op = "aten::mm",
                         .dims = "[[8192, 4096], [4096, 4096]]",
                         .types = R"(["c10::BFloat16", "c10::BFloat16"])",
                         .kernel = "nvjet_sm90_tst",
                         .device = 350});
      for (int pass = 0; pass < passes; ++pass)
        job.launch_shaped({.op = "aten::mul",
                           .dims = "[[8192, 4096], [8192, 4096]]",
                           .types = R"(["float", "float"])",
                           .kernel = "vectorized_elementwise_kernel",
                           .device = us});
    }
    job.end_step();
  }
  return job;
}

TEST(MemoryBandwidthBound, ChainsOfPassesAreNamedWithWhatFusingThemSaves) {
  const auto outcome = chain(6, 100).diagnose();
  const Finding* finding = outcome.find("memory_bandwidth_bound");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->severity, FindingSeverity::info);
  EXPECT_NE(finding->action.command.find("torch.compile"), std::string::npos);
  // Five of six passes could go at best.
  EXPECT_NEAR(*finding->gain.step_low_ms, 4 * (0.35 + 0.1), 0.1);
}

TEST(MemoryBandwidthBound, TwoPassesAreWhatTheOpsNeed) {
  EXPECT_EQ(chain(2, 100).diagnose().find("memory_bandwidth_bound"), nullptr);
}

TEST(MemoryBandwidthBound, ShortKernelsAreAnotherDisease) {
  EXPECT_EQ(chain(6, 4).diagnose().find("memory_bandwidth_bound"), nullptr);
}

}  // namespace
}  // namespace accel
