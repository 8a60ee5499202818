#include "runtime/session/cost_meter.h"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/buffer/clock.h"

namespace accel::runtime {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(CostMeter, the_cost_is_the_records_of_the_busiest_thread_and_the_recorders_threads_over_the_cores) {
  CostMeter meter;
  meter.begin(2, 100, 4, 0, kSecond, 0);
  EXPECT_FALSE(meter.due(kSecond + 1000));
  EXPECT_TRUE(meter.due(2 * kSecond));
  // 100,000 records of 100 ns are 10 ms of a second: 1 %. 40 ms of threads over four cores: 1 %.
  EXPECT_EQ(meter.look(2 * kSecond, 40'000'000, 100'000), CostMeter::Advice::go_on);
  const CostMeter::Figures figures = meter.figures();
  EXPECT_NEAR(figures.record_percent, 1, 1e-9);
  EXPECT_NEAR(figures.background_percent, 1, 1e-9);
  EXPECT_NEAR(figures.percent, 2, 1e-9);
  EXPECT_EQ(figures.limit_percent, 8);
  EXPECT_TRUE(std::isnan(figures.step_percent)) << "steps before the window were not steady";
}

TEST(CostMeter, twice_above_the_limit_the_larger_part_is_named_and_once_is_a_stall) {
  CostMeter meter;
  meter.begin(1, 100, 1, 0, 0, 0);
  std::int64_t now = 0;
  std::int64_t cpu = 0;
  const auto look = [&](double records_percent, double background_percent) {
    now += kSecond;
    cpu += static_cast<std::int64_t>(background_percent * 1e7);
    return meter.look(now, cpu, static_cast<std::uint64_t>(records_percent * 1e5));
  };
  EXPECT_EQ(look(5, 0), CostMeter::Advice::go_on);
  EXPECT_EQ(look(1, 0), CostMeter::Advice::go_on);
  EXPECT_EQ(look(5, 0), CostMeter::Advice::go_on);
  EXPECT_EQ(look(5, 1), CostMeter::Advice::fewer_records);
  EXPECT_EQ(look(1, 5), CostMeter::Advice::go_on);
  EXPECT_EQ(look(1, 5), CostMeter::Advice::fewer_samples);
  CostMeter unbounded;
  unbounded.begin(3, 100, 1, 0, 0, 0);
  for (int i = 1; i < 5; ++i) EXPECT_EQ(unbounded.look(i * kSecond, 0, 9'000'000), CostMeter::Advice::go_on);
}

TEST(CostMeter, steps_in_the_window_are_compared_with_steady_ones_before_it) {
  CostMeter meter;
  meter.begin(2, 100, 1, 1000, 0, 0);
  for (int i = 0; i < 12; ++i) meter.step_in_window(1020);
  (void)meter.look(kSecond, 0, 1);
  EXPECT_NEAR(meter.figures().step_percent, 2, 1e-9);
}

TEST(CostMeter, a_record_costs_two_clock_reads_and_what_a_scope_may_take) {
  choose_clock();
  EXPECT_GT(CostMeter::measure_record_ns(), 20);
  EXPECT_LT(CostMeter::measure_record_ns(), 2000);
  EXPECT_GE(CostMeter::usable_cores(), 1);
}

}  // namespace
}  // namespace accel::runtime
