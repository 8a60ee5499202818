// Medians of small samples. Pure.
#pragma once

#include <vector>

namespace accel::fusion {

double median_of(std::vector<double> values);  // 0 without values; of an even number the mean of the middle two
double mean_of(const std::vector<double>& values);
// Of at least two values around `mean`: one sigma of that mean.
double error_of_mean(const std::vector<double>& values, double mean);

}  // namespace accel::fusion
