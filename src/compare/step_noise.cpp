#include "compare/step_noise.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace accel::compare {
namespace {

struct Sample {
  double mean = 0;
  double error = 0;  // squared standard error of the mean
  double degrees = 0;
};

Sample sample_of(const std::vector<std::int64_t>& values) {
  Sample sample;
  const auto n = static_cast<double>(values.size());
  for (const std::int64_t value : values) sample.mean += static_cast<double>(value) / n;
  double squares = 0;
  for (const std::int64_t value : values) {
    const double off = static_cast<double>(value) - sample.mean;
    squares += off * off;
  }
  sample.degrees = n - 1;
  sample.error = squares / sample.degrees / n;
  return sample;
}

}  // namespace

double student_quantile(double degrees) {
  constexpr std::array<double, 30> kTable = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                             2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                             2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  if (!(degrees >= 1)) return kTable[0];
  // Between two rows the smaller number of degrees: the interval is rather too wide than too narrow.
  if (degrees < static_cast<double>(kTable.size() + 1)) return kTable[static_cast<std::size_t>(degrees) - 1];
  return 1.96 + 2.5 / degrees;
}

std::optional<Interval> difference_of_means(const std::vector<std::int64_t>& before,
                                            const std::vector<std::int64_t>& after) {
  if (before.size() < 2 || after.size() < 2) return std::nullopt;
  const Sample a = sample_of(before);
  const Sample b = sample_of(after);
  const double difference = b.mean - a.mean;
  const double error = a.error + b.error;
  if (error <= 0) return Interval{difference, difference};
  const double degrees = error * error / (a.error * a.error / a.degrees + b.error * b.error / b.degrees);
  const double half = student_quantile(degrees) * std::sqrt(error);
  return Interval{difference - half, difference + half};
}

}  // namespace accel::compare
