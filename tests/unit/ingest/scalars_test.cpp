#include "ingest/kineto_json/scalars.h"

#include <gtest/gtest.h>

#include <random>

#include "base/decimal_time.h"

namespace accel::kineto_json {
namespace {

std::int64_t time_of(std::string_view token, Parsed expected = Parsed::ok) {
  std::int64_t ns = -1;
  EXPECT_EQ(parse_time(token, ns), expected) << token;
  return ns;
}

TEST(Scalars, TimesAgreeWithTheGeneralReaderOfDecimals) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    const auto digits = [&](std::size_t n) {
      for (std::size_t k = 0; k < n; ++k) text += static_cast<char>('0' + random() % 10);
    };
    if (random() % 8 == 0) text += '-';
    digits(1 + random() % 17);
    if (random() % 4 != 0) {
      text += '.';
      digits(random() % 5);
    }
    if (random() % 16 == 0) text += "e" + std::to_string(random() % 5);
    const DecimalTime expected = parse_microseconds(text);
    std::int64_t ns = 0;
    const Parsed parsed = parse_time(text, ns);
    EXPECT_EQ(parsed == Parsed::ok, expected.status == DecimalTime::Status::ok) << text;
    EXPECT_EQ(parsed == Parsed::rounded, expected.status == DecimalTime::Status::rounded) << text;
    if (parsed != Parsed::ok && parsed != Parsed::rounded) continue;
    EXPECT_EQ(ns, expected.ns) << text;
  }
}

TEST(Scalars, TimesMayBeQuoted) {
  EXPECT_EQ(time_of("\"1700000.123\""), 1'700'000'123);
  EXPECT_EQ(time_of("12345678"), 12'345'678'000);
}

TEST(Scalars, WhatIsNoTimeIsNone) {
  time_of("1234567x.123", Parsed::absent);
  time_of("12345678.1x3", Parsed::absent);
  time_of("null", Parsed::absent);
  time_of("NaN", Parsed::not_a_number);
  time_of("-inf", Parsed::not_a_number);
  time_of("\"\"", Parsed::absent);
  time_of("", Parsed::absent);
}

TEST(Scalars, IntegersKeepSixtyFourBits) {
  const auto integer = [](std::string_view token, Parsed expected = Parsed::ok) {
    std::int64_t value = 0;
    EXPECT_EQ(parse_integer(token, value), expected) << token;
    return value;
  };
  EXPECT_EQ(integer("0"), 0);
  EXPECT_EQ(integer("-17"), -17);
  EXPECT_EQ(integer("\"42\""), 42);
  EXPECT_EQ(integer("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(integer("18446744073709551615"), -1);
  EXPECT_EQ(integer("1e3"), 1000);
  EXPECT_EQ(integer("12.7"), 12);
  integer("18446744073709551616", Parsed::out_of_range);
  integer("9223372036854775808", Parsed::out_of_range);
  integer("-9223372036854775808", Parsed::out_of_range);
  integer("abc", Parsed::absent);
  integer("12abc", Parsed::absent);
  integer("null", Parsed::absent);
}

TEST(Scalars, StringsWithUnknownEscapesAreLiteral) {
  std::string scratch;
  bool repaired = false;
  EXPECT_EQ(text_of(R"("plain")", scratch, repaired), "plain");
  EXPECT_EQ(text_of(R"("tab\there")", scratch, repaired), "tab\there");
  EXPECT_FALSE(repaired);
  EXPECT_EQ(text_of(R"("C:\Users\torch")", scratch, repaired), R"(C:\Users\torch)");
  EXPECT_TRUE(repaired);
  EXPECT_EQ(text_of(R"("\ud800x")", scratch, repaired), "\xEF\xBF\xBDx");
}

}  // namespace
}  // namespace accel::kineto_json
