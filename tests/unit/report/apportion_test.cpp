#include "report/apportion.h"

#include <gtest/gtest.h>

#include <numeric>

namespace accel::report {
namespace {

std::int64_t sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

TEST(Apportion, QuotientsRoundToTheNearestHalvesAwayFromZero) {
  EXPECT_EQ(rounded_quotient(7, 2), 4);
  EXPECT_EQ(rounded_quotient(-7, 2), -4);
  EXPECT_EQ(rounded_quotient(6, 4), 2);
  EXPECT_EQ(rounded_quotient(5, 4), 1);
}

TEST(Apportion, PartsAddUpToTheRoundedWhole) {
  const std::vector<std::int64_t> parts = {333, 333, 334};  // 3.33, 3.33, 3.34 of a whole of 10
  const auto shares = apportion(parts, 100, 10);
  EXPECT_EQ(shares, (std::vector<std::int64_t>{3, 3, 4}));
}

TEST(Apportion, TheEarlierPartGetsTheUnitOnATie) {
  const std::vector<std::int64_t> parts = {50, 50};
  EXPECT_EQ(apportion(parts, 100, 1), (std::vector<std::int64_t>{1, 0}));
}

TEST(Apportion, EveryDivisorKeepsTheSum) {
  const std::vector<std::int64_t> parts = {1, 0, 999'999'937, 3, 123'456'789, 5};
  const std::int64_t whole = sum(parts);
  for (std::int64_t divisor = 1; divisor < 200; ++divisor) {
    const std::int64_t rounded = rounded_quotient(whole, divisor);
    EXPECT_EQ(sum(apportion(parts, divisor, rounded)), rounded) << divisor;
  }
}

TEST(Apportion, NoPartsNoShares) { EXPECT_TRUE(apportion({}, 10, 0).empty()); }

}  // namespace
}  // namespace accel::report
