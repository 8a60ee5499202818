#include "support/synthetic_job.h"

namespace accel {
namespace {

using test::SyntheticJob;

constexpr std::string_view kPair = R"(["c10::BFloat16", "c10::BFloat16"])";
constexpr std::string_view kScores = "[[64, 2048, 64], [64, 64, 2048]]";
constexpr std::string_view kValues = "[[64, 2048, 2048], [64, 2048, 64]]";
constexpr std::string_view kMatrix = "[[4, 16, 2048, 2048], [], []]";
constexpr std::string_view kOne = R"(["c10::BFloat16", "Scalar", "Scalar"])";

struct Layer {
  bool product_after = true;
  bool dense_between = false;
  std::string_view softmax = "aten::_softmax";
};

SyntheticJob attention(const Layer& layer) {
  SyntheticJob job;
  job.on_h200();
  for (int step = 0; step < 4; ++step) {
    job.begin_step();
    for (int i = 0; i < 4; ++i) {
      job.launch_shaped(
          {.op = "aten::bmm", .dims = kScores, .types = kPair, .kernel = "nvjet_sm90_tst", .device = 100});
      job.launch_shaped(
          {.op = "aten::div", .dims = kMatrix, .types = kOne, .kernel = "elementwise_kernel", .device = 250});
      job.launch_shaped(
          {.op = layer.softmax, .dims = kMatrix, .types = kOne, .kernel = "softmax_warp_forward", .device = 500});
      if (layer.dense_between)
        job.launch_shaped({.op = "aten::mm",
                           .dims = "[[64, 64], [64, 64]]",
                           .types = kPair,
                           .kernel = "nvjet_sm90_tst",
                           .device = 5});
      if (layer.product_after)
        job.launch_shaped(
            {.op = "aten::bmm", .dims = kValues, .types = kPair, .kernel = "nvjet_sm90_tst", .device = 100});
      job.launch_shaped({.op = "aten::mm",
                         .dims = "[[8192, 1024], [1024, 1024]]",
                         .types = kPair,
                         .kernel = "nvjet_sm90_tst",
                         .device = 30});
    }
    job.end_step();
  }
  return job;
}

TEST(UnfusedAttention, ProductSoftmaxProductIsOneFusedKernel) {
  const auto outcome = attention({}).diagnose();
  const Finding* finding = outcome.find("unfused_attention");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, FindingSeverity::critical);
  EXPECT_NE(finding->action.command.find("scaled_dot_product_attention(q, k, v)"), std::string::npos);
  ASSERT_TRUE(finding->gain.step_ms.has_value());
  // 69 GFLOP a layer: 0.1 to 0.35 ms of the 0.95.
  EXPECT_GT(*finding->gain.step_ms, 4 * 0.13);
  EXPECT_LT(*finding->gain.step_ms, 4 * 0.4);
}

TEST(UnfusedAttention, ASoftmaxWithoutTheSecondProductIsNone) {
  EXPECT_EQ(attention({.product_after = false}).diagnose().find("unfused_attention"), nullptr);
}

TEST(UnfusedAttention, ADenseLayerBetweenMeansARouterOrAHead) {
  EXPECT_EQ(attention({.dense_between = true}).diagnose().find("unfused_attention"), nullptr);
}

TEST(UnfusedAttention, TheSoftmaxOfALossIsNoAttention) {
  EXPECT_EQ(attention({.softmax = "aten::_log_softmax"}).diagnose().find("unfused_attention"), nullptr);
}

// Without recorded shapes the order of the kernels is enough.
TEST(UnfusedAttention, NeedsNoShapes) {
  SyntheticJob job;
  for (int step = 0; step < 4; ++step) {
    job.begin_step();
    for (int i = 0; i < 4; ++i) {
      job.launch("aten::bmm", "nvjet", 10, 100);
      job.launch("aten::_softmax", "softmax_warp_forward", 10, 500);
      job.launch("aten::bmm", "nvjet", 10, 100);
    }
    job.end_step();
  }
  EXPECT_TRUE(job.diagnose().fires("unfused_attention"));
}

}  // namespace
}  // namespace accel
