#include "support/synthetic_job.h"

namespace accel {
namespace {

using test::SyntheticJob;

// 0.4 GB to move: 0.086 ms at the roof.
SyntheticJob norms(double us, std::int32_t blocks = 132 * 16) {
  SyntheticJob job;
  job.on_h200();
  for (int step = 0; step < 4; ++step) {
    job.begin_step();
    for (int i = 0; i < 4; ++i)
      job.launch_shaped({.op = "aten::native_layer_norm",
                         .dims = "[[51200, 1024], [], [1024], [1024], []]",
                         .types = R"(["float", "ScalarList", "float", "float", "Scalar"])",
                         .kernel = "layer_norm_kernel",
                         .device = us,
                         .blocks = blocks});
    job.end_step();
  }
  return job;
}

TEST(LowKernelEfficiency, KernelsFarBelowTheRoofAreNamedWithTheirShare) {
  const auto outcome = norms(1500).diagnose();
  const Finding* finding = outcome.find("low_kernel_efficiency");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->severity, FindingSeverity::info);
  EXPECT_FALSE(finding->gain.step_ms.has_value());
}

TEST(LowKernelEfficiency, OrdinaryKernelsAreNot) {
  EXPECT_EQ(norms(200).diagnose().find("low_kernel_efficiency"), nullptr);
}

}  // namespace
}  // namespace accel
