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

TEST(LowOccupancy, GridsThatLeaveMostOfTheDeviceEmptyAreNamed) {
  const auto outcome = norms(200, 33).diagnose();
  const Finding* finding = outcome.find("low_occupancy");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->severity, FindingSeverity::info);
  EXPECT_NEAR(finding->share_of_step, 0.75, 0.05);
}

TEST(LowOccupancy, GridsThatFillItAreNot) { EXPECT_EQ(norms(200, 132).diagnose().find("low_occupancy"), nullptr); }

}  // namespace
}  // namespace accel
