#include "support/synthetic_job.h"

namespace accel {
namespace {

using test::SyntheticJob;

// convolution_backward needs no concrete inputs: 2 * 2 * 64 * 64 * 56 * 56 * 64 * 9 = 30 GFLOP.
SyntheticJob convolutions(double us) {
  SyntheticJob job;
  job.on_h200();
  for (int step = 0; step < 4; ++step) {
    job.begin_step();
    for (int i = 0; i < 4; ++i)
      job.launch_shaped({.op = "aten::convolution_backward",
                         .dims = "[[64, 64, 56, 56], [64, 64, 56, 56], [64, 64, 3, 3]]",
                         .types = R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"])",
                         .kernel = "cutlass_tensorop_bf16_s16816dgrad",
                         .device = us});
    job.end_step();
  }
  return job;
}

TEST(ConvAlgorithm, ConvolutionsFarBelowTheRoofAreNamedWithoutAPromise) {
  const auto outcome = convolutions(2000).diagnose();
  const Finding* finding = outcome.find("conv_algorithm");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, FindingSeverity::critical);
  EXPECT_NE(finding->action.command.find("cudnn.benchmark = True"), std::string::npos);
  EXPECT_FALSE(finding->gain.step_ms.has_value());
  EXPECT_EQ(finding->gain.basis, GainBasis::none);
}

TEST(ConvAlgorithm, OrdinaryConvolutionsAreNot) {
  EXPECT_EQ(convolutions(150).diagnose().find("conv_algorithm"), nullptr);
}

}  // namespace
}  // namespace accel
