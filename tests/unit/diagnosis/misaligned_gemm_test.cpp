#include "support/synthetic_job.h"

namespace accel {
namespace {

using test::SyntheticJob;

constexpr std::string_view kSlowKernel = "cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1";
constexpr std::string_view kFastKernel = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT";

SyntheticJob products(std::string_view dims, std::string_view kernel, double us, std::string_view strides = {}) {
  SyntheticJob job;
  job.on_h200();
  for (int step = 0; step < 4; ++step) {
    job.begin_step();
    for (int i = 0; i < 4; ++i)
      job.launch_shaped({.op = "aten::mm",
                         .dims = dims,
                         .types = R"(["c10::BFloat16", "c10::BFloat16"])",
                         .kernel = kernel,
                         .device = us,
                         .strides = strides});
    job.end_step();
  }
  return job;
}

TEST(MisalignedGemm, OddSizesInASlowKernelAreNamedWithTheSizeToPadTo) {
  const auto outcome = products("[[8192, 4093], [4093, 4093]]", kSlowKernel, 1900).diagnose();
  const Finding* finding = outcome.find("misaligned_gemm");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, FindingSeverity::critical);
  EXPECT_NE(finding->title.find("4093"), std::string::npos);
  EXPECT_NE(finding->action.title.find("4093 to 4096"), std::string::npos);
  EXPECT_NE(finding->action.command.find("SIZE = 4096"), std::string::npos);
  // 275 GFLOP: 0.28 ms at the peak.
  EXPECT_LT(*finding->gain.step_low_ms, 4 * 0.35);
  EXPECT_GT(*finding->gain.step_high_ms, 4 * 0.45);
  EXPECT_LE(*finding->gain.step_high_ms, 3 * *finding->gain.step_low_ms);
}

TEST(MisalignedGemm, MultiplesOfEightAreNot) {
  EXPECT_EQ(
      products("[[8192, 4096], [4096, 4096]]", "some_gemm_tensorop_bf16", 1900).diagnose().find("misaligned_gemm"),
      nullptr);
}

TEST(MisalignedGemm, OddSizesThatAFastKernelTakesCostNothing) {
  EXPECT_EQ(products("[[8192, 4093], [4093, 4093]]", kFastKernel, 400).diagnose().find("misaligned_gemm"), nullptr);
}

// An odd number of rows does not misalign them: only the distance of rows counts.
TEST(MisalignedGemm, RowsThatStartAlignedAreNotBlamed) {
  EXPECT_EQ(products("[[8191, 4096], [4096, 4096]]", "some_gemm_tensorop_bf16", 1900, "[[4096, 1], [4096, 1]]")
                .diagnose()
                .find("misaligned_gemm"),
            nullptr);
}

}  // namespace
}  // namespace accel
