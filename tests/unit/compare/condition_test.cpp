#include "compare/condition.h"

#include <gtest/gtest.h>

#include <map>

namespace accel::compare {
namespace {

struct Numbers {
  std::map<std::string, double> before;
  std::map<std::string, double> after;
  std::optional<Interval> delta;
};

Truth truth(std::string_view text, const Numbers& numbers) {
  const auto condition = parse_condition(text);
  EXPECT_TRUE(condition.ok()) << text << ": " << (condition.ok() ? "" : condition.error().message);
  if (!condition) return Truth::unknown;
  ConditionInput input;
  input.step_delta_ns = numbers.delta;
  input.number = [&](bool of_before, const std::string& path) -> Result<std::optional<double>> {
    const auto& list = of_before ? numbers.before : numbers.after;
    const auto found = list.find(path);
    return found == list.end() ? std::optional<double>() : std::optional<double>(found->second);
  };
  const auto outcome = check(*condition, input);
  EXPECT_TRUE(outcome.ok());
  return outcome->truth;
}

std::string error_of(std::string_view text) {
  const auto condition = parse_condition(text);
  EXPECT_FALSE(condition.ok()) << text;
  return condition.ok() ? "" : condition.error().message;
}

const Numbers kNumbers = {{{"step_time.mean_ms", 10}, {"memory.peak_bytes", 1e9}, {"utilisation.mfu", 0.4}},
                          {{"step_time.mean_ms", 12},
                           {"memory.peak_bytes", 1.04e9},
                           {"utilisation.mfu", 0.3},
                           {"time_breakdown_undisturbed.idle_share", 0.25}},
                          Interval{1e6, 3e6}};

TEST(Condition, ComparesWithTheRunBefore) {
  EXPECT_EQ(truth("step_time > 1.05x", kNumbers), Truth::yes);
  EXPECT_EQ(truth("step_time > 1.25x", kNumbers), Truth::no);
  EXPECT_EQ(truth("memory.peak > +5%", kNumbers), Truth::no);
  EXPECT_EQ(truth("memory.peak > +3%", kNumbers), Truth::yes);
  EXPECT_EQ(truth("mfu < -20%", kNumbers), Truth::yes);
}

TEST(Condition, ComparesWithFiguresInTheirUnits) {
  EXPECT_EQ(truth("idle_share > 20%", kNumbers), Truth::yes);
  EXPECT_EQ(truth("step_time.mean_ms >= 12 ms", kNumbers), Truth::yes);
  EXPECT_EQ(truth("step_time > 0.011 s", kNumbers), Truth::yes);
  EXPECT_EQ(truth("step_time > 13", kNumbers), Truth::no);
  EXPECT_EQ(truth("memory.peak > 1 GiB", kNumbers), Truth::no);
  EXPECT_EQ(truth("memory.peak > 1.03 GB", kNumbers), Truth::yes);
}

TEST(Condition, JoinsWithAndOrNotAndBrackets) {
  EXPECT_EQ(truth("step_time > 13 or mfu < 0.35", kNumbers), Truth::yes);
  EXPECT_EQ(truth("step_time > 13 and mfu < 0.35", kNumbers), Truth::no);
  EXPECT_EQ(truth("not (step_time > 13 or mfu < 0.2)", kNumbers), Truth::yes);
  EXPECT_EQ(truth("step_time > 13 or mfu < 0.35 and idle_share > 0.9", kNumbers), Truth::no);
}

TEST(Condition, WhatWasNotMeasuredIsUnknownUnlessTheRestDecides) {
  EXPECT_EQ(truth("tokens_s < 100", kNumbers), Truth::unknown);
  EXPECT_EQ(truth("not tokens_s < 100", kNumbers), Truth::unknown);
  EXPECT_EQ(truth("tokens_s < 100 or step_time > 11", kNumbers), Truth::yes);
  EXPECT_EQ(truth("tokens_s < 100 and step_time > 13", kNumbers), Truth::no);
}

TEST(Condition, ADifferenceWithinTheNoiseOfTheStepsIsNone) {
  Numbers noisy = kNumbers;
  noisy.delta = Interval{-1e6, 5e6};
  EXPECT_EQ(truth("step_time > 1.05x", noisy), Truth::no);
  EXPECT_EQ(truth("step_time > 11 ms", noisy), Truth::yes);  // a plain figure, not a change
}

TEST(Condition, ErrorsNameThePosition) {
  EXPECT_EQ(error_of("step_time >").substr(0, 6), "at 12:");
  EXPECT_EQ(error_of("step_time 5").substr(0, 6), "at 11:");
  EXPECT_EQ(error_of("step_time > 5 furlongs").substr(0, 6), "at 15:");
  EXPECT_EQ(error_of("step_time > 5 GB").substr(0, 6), "at 15:");
  EXPECT_EQ(error_of("step_time > 20%").substr(0, 6), "at 15:");
  EXPECT_EQ(error_of("(step_time > 5").substr(0, 6), "at 15:");
  EXPECT_EQ(error_of("step_time > 5) x").substr(0, 6), "at 14:");
  EXPECT_EQ(error_of("").substr(0, 5), "at 1:");
  EXPECT_EQ(error_of("__import__('os')").substr(0, 6), "at 11:");
}

TEST(Condition, DepthAndLengthAreBounded) {
  EXPECT_NE(error_of(std::string(1000, '(') + "a > 1").find("deep"), std::string::npos);
  std::string nots;
  for (int i = 0; i < 400; ++i) nots += "not ";
  EXPECT_NE(error_of(nots + "a > 1").find("deep"), std::string::npos);
  EXPECT_FALSE(parse_condition(std::string(100'000, 'a')).ok());
}

}  // namespace
}  // namespace accel::compare
