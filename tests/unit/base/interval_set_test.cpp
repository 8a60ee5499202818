#include "base/interval_set.h"

#include <gtest/gtest.h>

#include <random>

namespace accel {
namespace {

IntervalSet set_of(std::vector<Interval> list) { return IntervalSet::from_unsorted(std::move(list)); }

std::vector<Interval> list_of(const IntervalSet& set) { return {set.intervals().begin(), set.intervals().end()}; }

TEST(IntervalSet, UnitesOverlapsAndJoinsTouching) {
  const IntervalSet set = set_of({{90, 150}, {0, 100}, {150, 160}, {200, 210}});
  EXPECT_EQ(list_of(set), (std::vector<Interval>{{0, 160}, {200, 210}}));
  EXPECT_EQ(set.total_ns(), 170);
}

TEST(IntervalSet, IgnoresEmptyAndNegativeIntervals) { EXPECT_TRUE(set_of({{5, 5}, {9, 3}}).empty()); }

TEST(IntervalSet, DifferenceLeavesWhatTheOtherDoesNotCover) {
  const IntervalSet set = set_of({{0, 100}, {200, 300}});
  EXPECT_EQ(list_of(set.minus(set_of({{10, 20}, {90, 210}, {250, 260}}))),
            (std::vector<Interval>{{0, 10}, {20, 90}, {210, 250}, {260, 300}}));
}

TEST(IntervalSet, GapsOfAWindowAndItsClippedPartMakeTheWindow) {
  const IntervalSet set = set_of({{-5, 3}, {7, 9}, {20, 40}});
  EXPECT_EQ(list_of(set.gaps_in({0, 30})), (std::vector<Interval>{{3, 7}, {9, 20}}));
  EXPECT_EQ(set.gaps_in({0, 30}).total_ns() + set.clipped({0, 30}).total_ns(), 30);
}

// Every operation against a bitmap of 200 positions.
TEST(IntervalSet, AgreesWithABitmapOnRandomSets) {
  std::mt19937 random(7);
  const auto draw = [&](int n) {
    std::vector<Interval> list;
    for (int i = 0; i < n; ++i) {
      const auto start = static_cast<std::int64_t>(random() % 190);
      list.push_back({start, start + static_cast<std::int64_t>(random() % 12)});
    }
    return list;
  };
  const auto bits_of = [](const std::vector<Interval>& list) {
    std::vector<bool> bits(210);
    for (const Interval& i : list) {
      for (std::int64_t t = i.start_ns; t < i.end_ns; ++t) bits[static_cast<std::size_t>(t)] = true;
    }
    return bits;
  };
  for (int round = 0; round < 300; ++round) {
    const auto a_list = draw(static_cast<int>(random() % 20));
    const auto b_list = draw(static_cast<int>(random() % 20));
    const auto a = bits_of(a_list);
    const auto b = bits_of(b_list);
    std::vector<bool> both(210), any(210), only_a(210);
    for (std::size_t i = 0; i < 210; ++i) {
      both[i] = a[i] && b[i];
      any[i] = a[i] || b[i];
      only_a[i] = a[i] && !b[i];
    }
    const IntervalSet sa = set_of(a_list);
    const IntervalSet sb = set_of(b_list);
    EXPECT_EQ(bits_of(list_of(sa.intersected(sb))), both);
    EXPECT_EQ(bits_of(list_of(sa.united(sb))), any);
    EXPECT_EQ(bits_of(list_of(sa.minus(sb))), only_a);
  }
}

}  // namespace
}  // namespace accel
