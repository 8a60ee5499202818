// Rounding that adds up: parts of a whole in integer units whose sum is exactly the rounded whole. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace accel::report {

// round(numerator / denominator), halves away from zero; denominator > 0.
std::int64_t rounded_quotient(std::int64_t numerator, std::int64_t denominator);

// `parts` divided by `divisor` and rounded to integers that add up to `whole` (largest remainders first, the earlier
// part on a tie). Parts are not negative; `whole` is within parts.size() of the exact sum.
std::vector<std::int64_t> apportion(std::span<const std::int64_t> parts, std::int64_t divisor, std::int64_t whole);

}  // namespace accel::report
