// How sure a difference of two mean steps is, from the steps themselves: Welch's interval. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace accel::compare {

struct Interval {
  double low = 0;
  double high = 0;
};

// 97.5 % quantile of Student's distribution; degrees of freedom below 1 count as 1.
double student_quantile(double degrees);

// Mean of `after` less mean of `before`, in which the true difference lies in 95 of 100 cases when steps are
// independent. Nothing when either has fewer than two steps.
std::optional<Interval> difference_of_means(const std::vector<std::int64_t>& before,
                                            const std::vector<std::int64_t>& after);

}  // namespace accel::compare
