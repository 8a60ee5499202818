#include "support/synthetic_job.h"

namespace accel {
namespace {

using test::SyntheticJob;

SyntheticJob job_with(std::string_view kernel, double us, double host_us = 10) {
  SyntheticJob job;
  job.on_h200();
  for (int step = 0; step < 4; ++step) {
    job.begin_step();
    for (int i = 0; i < 4; ++i) {
      job.launch("aten::cudnn_convolution", kernel, host_us, us);
      job.launch("aten::cudnn_convolution", "sm80_xmma_fprop", host_us, 400);
    }
    job.end_step();
  }
  return job;
}

constexpr std::string_view kRearrange =
    "void cudnn::engines_precompiled::nchwToNhwcKernel<float, float, float, false, true>(x)";

TEST(LayoutCopies, KernelsThatRearrangeForConvolutionsAreNamed) {
  const auto outcome = job_with(kRearrange, 100).diagnose();
  const Finding* finding = outcome.find("layout_copies");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, FindingSeverity::warning);
  EXPECT_NEAR(finding->cost_ms_per_step, 0.4, 0.01);
  EXPECT_NE(finding->action.command.find("channels_last"), std::string::npos);
}

TEST(LayoutCopies, OtherKernelsAreNot) {
  EXPECT_EQ(job_with("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>(x)", 100).diagnose().find("layout_copies"), nullptr);
}

TEST(LayoutCopies, NothingIsPromisedWhereTheHostWasSlowerInTheRecording) {
  const auto outcome = job_with(kRearrange, 100, 400).diagnose();
  const Finding* finding = outcome.find("layout_copies");
  ASSERT_NE(finding, nullptr);
  EXPECT_FALSE(finding->gain.step_ms.has_value());
  EXPECT_EQ(finding->gain.basis, GainBasis::none);
}

SyntheticJob copies(std::string_view strides) {
  SyntheticJob job;
  job.on_h200();
  for (int step = 0; step < 4; ++step) {
    job.begin_step();
    job.launch("aten::mm", "nvjet", 10, 1000);
    job.launch_shaped({.op = "aten::copy_",
                       .dims = "[[16, 1024, 16, 64], [16, 1024, 16, 64]]",
                       .types = R"(["float", "float"])",
                       .kernel = "elementwise_kernel",
                       .device = 500,
                       .strides = strides});
    job.end_step();
  }
  return job;
}

TEST(LayoutCopies, CopiesIntoAnotherOrderOfDimensionsAreNamedWhenTheyMatter) {
  EXPECT_TRUE(copies("[[1048576, 1024, 64, 1], [1048576, 64, 65536, 1]]").diagnose().fires("layout_copies"));
}

TEST(LayoutCopies, CopiesInTheSameOrderAreNot) {
  EXPECT_EQ(copies("[[1048576, 1024, 64, 1], [1048576, 1024, 64, 1]]").diagnose().find("layout_copies"), nullptr);
}

}  // namespace
}  // namespace accel
