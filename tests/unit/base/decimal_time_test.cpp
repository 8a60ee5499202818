#include "base/decimal_time.h"

#include <gtest/gtest.h>

namespace accel {
namespace {

using Status = DecimalTime::Status;

void expect(std::string_view text, std::int64_t ns, Status status = Status::ok) {
  const DecimalTime time = parse_microseconds(text);
  EXPECT_EQ(time.ns, ns) << text;
  EXPECT_EQ(time.status, status) << text;
}

TEST(DecimalTime, KeepsEveryDigitOfTimesThatADoubleCannotHold) {
  expect("1711964646123456.789", 1711964646123456789);
  expect("5104864208404.106", 5104864208404106);
}

TEST(DecimalTime, ReadsSignsFractionsAndExponents) {
  expect("0", 0);
  expect("-1", -1000);
  expect("-0.001", -1);
  expect(".5", 500);
  expect("7.", 7000);
  expect("1.5e3", 1500000);
  expect("15E-1", 1500);
  expect("2e+2", 200000);
}

TEST(DecimalTime, RoundsFinerDigitsHalfEvenAndSaysSo) {
  expect("0.0005", 0, Status::rounded);
  expect("0.0015", 2, Status::rounded);
  expect("0.0025", 2, Status::rounded);
  expect("0.00250001", 3, Status::rounded);
  expect("0.0024999", 2, Status::rounded);
  expect("1e-9", 0, Status::rounded);
  expect("1.0000", 1000);
}

TEST(DecimalTime, RefusesWhatIsNoNumberOrDoesNotFit) {
  expect("", 0, Status::not_a_number);
  expect("abc", 0, Status::not_a_number);
  expect("1.2.3", 0, Status::not_a_number);
  expect("1e", 0, Status::not_a_number);
  expect("NaN", 0, Status::not_a_number);
  expect("9223372036854775807", 0, Status::out_of_range);
  expect("1e300", 0, Status::out_of_range);
  expect("9223372036854775.807", 9223372036854775807);
  expect("0e999999999", 0);
}

}  // namespace
}  // namespace accel
