#include "report/apportion.h"

#include <algorithm>
#include <numeric>

namespace accel::report {

std::int64_t rounded_quotient(std::int64_t numerator, std::int64_t denominator) {
  const std::int64_t half = denominator / 2;
  return numerator >= 0 ? (numerator + half) / denominator : -((-numerator + half) / denominator);
}

std::vector<std::int64_t> apportion(std::span<const std::int64_t> parts, std::int64_t divisor, std::int64_t whole) {
  std::vector<std::int64_t> shares(parts.size());
  std::vector<std::size_t> by_remainder(parts.size());
  std::iota(by_remainder.begin(), by_remainder.end(), std::size_t{0});
  std::int64_t left = whole;
  for (std::size_t i = 0; i < parts.size(); ++i) left -= shares[i] = parts[i] / divisor;
  std::stable_sort(by_remainder.begin(), by_remainder.end(),
                   [&](std::size_t a, std::size_t b) { return parts[a] % divisor > parts[b] % divisor; });
  for (std::size_t i = 0; i < by_remainder.size() && left > 0; ++i, --left) ++shares[by_remainder[i]];
  // Only a whole smaller than the floors can leave a debt: it comes off the largest part.
  if (left != 0 && !shares.empty()) *std::max_element(shares.begin(), shares.end()) += left;
  return shares;
}

}  // namespace accel::report
