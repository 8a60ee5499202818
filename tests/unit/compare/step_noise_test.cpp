#include "compare/step_noise.h"

#include <gtest/gtest.h>

namespace accel::compare {
namespace {

TEST(StepNoise, IsWelchsInterval) {
  // Means 12 and 22; squared errors 4/3 and 14/3/4; degrees of freedom 4.75, taken as 4.
  const auto interval = difference_of_means({10, 12, 14}, {20, 21, 22, 25});
  ASSERT_TRUE(interval);
  EXPECT_NEAR((interval->low + interval->high) / 2, 10.0, 1e-9);
  EXPECT_NEAR(interval->high - interval->low, 2 * 2.776 * 1.58114, 0.01);
}

TEST(StepNoise, OneStepTellsNothing) { EXPECT_FALSE(difference_of_means({10}, {20, 21})); }

TEST(StepNoise, EqualStepsHaveNoNoise) {
  const auto interval = difference_of_means({10, 10}, {13, 13});
  ASSERT_TRUE(interval);
  EXPECT_EQ(interval->low, 3);
  EXPECT_EQ(interval->high, 3);
}

TEST(StepNoise, TheQuantileFallsTowardsThatOfTheNormalDistribution) {
  EXPECT_NEAR(student_quantile(1), 12.706, 1e-3);
  EXPECT_NEAR(student_quantile(60), 2.000, 2e-3);
  EXPECT_NEAR(student_quantile(1e9), 1.96, 1e-3);
  EXPECT_NEAR(student_quantile(0), 12.706, 1e-3);
}

}  // namespace
}  // namespace accel::compare
