#include "cli/ranges.h"

#include <gtest/gtest.h>

namespace accel::cli {
namespace {

TEST(Ranges, StepsAreGivenByNumber) {
  const auto both = parse_steps("3:8");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->first, 3);
  EXPECT_EQ(both->last, 8);
  EXPECT_EQ(parse_steps("3:")->last, std::nullopt);
  EXPECT_EQ(parse_steps(":8")->first, std::nullopt);
  EXPECT_EQ(parse_steps("5")->first, 5);
  EXPECT_EQ(parse_steps("5")->last, 5);
}

TEST(Ranges, WhatIsNoRangeIsRefused) {
  for (const char* text : {"", ":", "a:b", "3:x", "8:3", "-1:3", "3:8:9", "1.5:2"})
    EXPECT_FALSE(parse_steps(text)) << text;
}

TEST(Ranges, TimesCarryAUnit) {
  const auto times = parse_times("1.5s:2s");
  ASSERT_TRUE(times);
  EXPECT_EQ(times->first, 1'500'000'000);
  EXPECT_EQ(times->last, 2'000'000'000);
  EXPECT_EQ(parse_times("200ms:")->first, 200'000'000);
  EXPECT_EQ(parse_times(":7us")->last, 7'000);
  EXPECT_EQ(parse_times("0ns:1ns")->last, 1);
  for (const char* text : {"", ":", "5", "5:6", "1.5s", "2s:1s", "ms:", "1e300s:", "nans:"})
    EXPECT_FALSE(parse_times(text)) << text;
}

}  // namespace
}  // namespace accel::cli
