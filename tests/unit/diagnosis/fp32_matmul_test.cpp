#include "support/synthetic_job.h"

namespace accel {
namespace {

using test::SyntheticJob;

constexpr std::string_view kPlain = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_ffma_kernel";
constexpr std::string_view kTf32 =
    "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_warpgroupsize1x1x1_kernel";

// 137 GFLOP each: 2.7 ms at 75 % of the fp32 peak, 0.5 ms in TF32.
SyntheticJob products(std::string_view kernel, std::string_view type, double us, bool known_device = true) {
  SyntheticJob job;
  if (known_device) job.on_h200();
  const std::string types = "[\"" + std::string(type) + "\", \"" + std::string(type) + "\"]";
  for (int step = 0; step < 4; ++step) {
    job.begin_step();
    for (int i = 0; i < 4; ++i)
      job.launch_shaped(
          {.op = "aten::mm", .dims = "[[4096, 4096], [4096, 4096]]", .types = types, .kernel = kernel, .device = us});
    job.end_step();
  }
  return job;
}

TEST(Fp32Matmul, PlainFp32ProductsOnADeviceWithTf32AreNamed) {
  const auto outcome = products(kPlain, "float", 2700).diagnose();
  const Finding* finding = outcome.find("fp32_matmul");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, FindingSeverity::critical);
  EXPECT_NE(finding->action.command.find("set_float32_matmul_precision(\"high\")"), std::string::npos);
  EXPECT_FALSE(finding->action.side_effects.empty());
  ASSERT_TRUE(finding->gain.step_ms.has_value());
  // In TF32 or in 16 bits; half of the TF32 peak, 0.56 ms of each 2.7, is its end: a band of replaced kernels is at
  // most three times as high as low (docs/design/what-if.md).
  EXPECT_LT(*finding->gain.step_low_ms, 4 * 0.3);
  EXPECT_GT(*finding->gain.step_high_ms, 4 * 0.54);
  EXPECT_LE(*finding->gain.step_high_ms, 3.001 * *finding->gain.step_low_ms);
}

TEST(Fp32Matmul, Tf32ProductsAreNot) {
  EXPECT_EQ(products(kTf32, "float", 400).diagnose().find("fp32_matmul"), nullptr);
}

TEST(Fp32Matmul, DoublePrecisionIsAChoice) {
  EXPECT_EQ(products("cutlass_80_tensorop_d884gemm_64x64", "double", 5000).diagnose().find("fp32_matmul"), nullptr);
}

TEST(Fp32Matmul, AnUnknownDeviceGetsNoAdviceAboutItsUnits) {
  EXPECT_EQ(products(kPlain, "float", 2700, false).diagnose().find("fp32_matmul"), nullptr);
}

TEST(Fp32Matmul, ASmallShareOfTheStepIsInfo) {
  SyntheticJob job;
  job.on_h200();
  for (int step = 0; step < 4; ++step) {
    job.begin_step();
    job.launch_shaped({.op = "aten::mm",
                       .dims = "[[512, 512], [512, 4096]]",
                       .types = R"(["float", "float"])",
                       .kernel = kPlain,
                       .device = 45});
    for (int i = 0; i < 4; ++i)
      job.launch_shaped({.op = "aten::mm",
                         .dims = "[[4096, 4096], [4096, 4096]]",
                         .types = R"(["c10::BFloat16", "c10::BFloat16"])",
                         .kernel = "nvjet_sm90_tst_256x128",
                         .device = 800});
    job.end_step();
  }
  EXPECT_FALSE(job.diagnose().fires("fp32_matmul"));
}

}  // namespace
}  // namespace accel
