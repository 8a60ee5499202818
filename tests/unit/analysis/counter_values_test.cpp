#include "analysis/counter_values.h"

#include <gtest/gtest.h>

#include "trace/trace_builder.h"

namespace accel {
namespace {

// gpu: a level that changes every 100 ns; bytes: a sum; reasons: bits; bare: nothing is known of it.
TraceStore store_with_counters() {
  TraceBuilder builder;
  TraceBatch batch;
  const auto sample = [&](const char* name, std::int64_t time, double value) {
    batch.counters.push({time, value, batch.intern(name)});
  };
  for (int i = 0; i < 10; ++i) sample("gpu", i * 100, i);
  for (int i = 0; i < 10; ++i) sample("bytes", i * 100, 1000 + i * 10);
  sample("reasons", 100, 4);
  sample("reasons", 200, 1);
  sample("bare", 50, 7);
  batch.counter_infos.push({100, batch.intern("gpu"), batch.intern("%"), batch.intern("nvml"), 0});
  batch.counter_infos.push({0, batch.intern("bytes"), batch.intern("bytes"), batch.intern("process"), 1});
  batch.counter_infos.push({0, batch.intern("reasons"), batch.intern("bits"), batch.intern("nvml"), 2});
  builder.commit(batch, 0);
  return *builder.finish();
}

TEST(CounterValues, an_interval_gets_the_mean_the_peak_and_the_state_of_the_samples_in_it) {
  const TraceStore store = store_with_counters();
  const CounterValues values(store);
  ASSERT_EQ(values.counters().size(), 4U);
  const CounterFigures figures = values.over(*values.find("gpu"), {200, 500});
  EXPECT_EQ(figures.samples, 3U);
  EXPECT_DOUBLE_EQ(*figures.mean, 3);
  EXPECT_DOUBLE_EQ(*figures.lowest, 2);
  EXPECT_DOUBLE_EQ(*figures.highest, 4);
  EXPECT_DOUBLE_EQ(*figures.last, 4);
  EXPECT_FALSE(figures.increase);
  EXPECT_TRUE(figures.why_not.empty());
}

TEST(CounterValues, what_is_shorter_than_the_refresh_or_holds_no_sample_was_not_measured) {
  const TraceStore store = store_with_counters();
  const CounterValues values(store);
  const CounterFigures short_one = values.over(*values.find("gpu"), {290, 310});
  EXPECT_FALSE(short_one.mean) << "there is a sample at 300, but it speaks for 100 ns";
  EXPECT_NE(short_one.why_not.find("shorter"), std::string_view::npos);
  const CounterFigures empty = values.over(*values.find("bare"), {60, 1000});
  EXPECT_FALSE(empty.last);
  EXPECT_NE(empty.why_not.find("no sample"), std::string_view::npos);
  EXPECT_FALSE(values.over(*values.find("bare"), {60, 60}).why_not.empty());
  EXPECT_EQ(values.find("nobody"), nullptr);
}

TEST(CounterValues, a_sum_has_an_increase_and_bits_are_gathered) {
  const TraceStore store = store_with_counters();
  const CounterValues values(store);
  const CounterFigures bytes = values.over(*values.find("bytes"), {0, 1000});
  EXPECT_DOUBLE_EQ(*bytes.increase, 90);
  EXPECT_FALSE(bytes.mean);
  EXPECT_FALSE(values.over(*values.find("bytes"), {0, 50}).increase) << "one sample shows no increase";
  const CounterFigures reasons = values.over(*values.find("reasons"), {0, 1000});
  EXPECT_EQ(reasons.bits, 5U);
  EXPECT_FALSE(reasons.mean);
  EXPECT_DOUBLE_EQ(*reasons.last, 1);
}

}  // namespace
}  // namespace accel
