#include "fusion/clock_alignment/weighted_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace accel::fusion {
namespace {

// A rank that is waited for ends later than its peers by a share of the transfer: 0.07 to 0.17 was measured with NCCL's
// ring over NVLink, 0 when nobody waits. Other paths may differ, hence the width.
constexpr double kBiasPrior = 0.1;
constexpr double kBiasSigma = 0.1;
constexpr double kSlopeSigma = 1e6;  // ns per s: 1000 ppm; no clock is worse
constexpr int kRounds = 8;
constexpr double kOutlier = 4;  // robust sigmas

using Matrix = std::array<std::array<double, 3>, 3>;
using Vector = std::array<double, 3>;

// Reorders them.
double median(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const double upper = *middle;
  return (upper + *std::max_element(values.begin(), middle)) / 2;
}

// Inverse of a symmetric positive matrix by Gauss-Jordan; the priors keep it from being singular.
Matrix inverse(Matrix a) {
  Matrix out{};
  for (std::size_t i = 0; i < 3; ++i) out[i][i] = 1;
  for (std::size_t column = 0; column < 3; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column + 1; row < 3; ++row)
      if (std::abs(a[row][column]) > std::abs(a[pivot][column])) pivot = row;
    std::swap(a[column], a[pivot]);
    std::swap(out[column], out[pivot]);
    const double scale = a[column][column];
    if (scale == 0) continue;
    for (std::size_t k = 0; k < 3; ++k) {
      a[column][k] /= scale;
      out[column][k] /= scale;
    }
    for (std::size_t row = 0; row < 3; ++row) {
      if (row == column) continue;
      const double factor = a[row][column];
      for (std::size_t k = 0; k < 3; ++k) {
        a[row][k] -= factor * a[column][k];
        out[row][k] -= factor * out[column][k];
      }
    }
  }
  return out;
}

struct Solution {
  Vector x{};
  Matrix covariance{};
};

// Values are taken above `center`: near zero the numbers stay exact.
Solution solve(const std::vector<FitPoint>& points, double center, const std::vector<double>& weights,
               bool with_slope) {
  Matrix a{};
  Vector b{};
  a[0][0] = 1e-30;
  a[1][1] = with_slope ? 1 / (kSlopeSigma * kSlopeSigma) : 1e30;
  a[2][2] = 1 / (kBiasSigma * kBiasSigma);
  b[2] = kBiasPrior * a[2][2];
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Vector row{1, with_slope ? points[i].time : 0, points[i].bias};
    for (std::size_t j = 0; j < 3; ++j) {
      b[j] += weights[i] * row[j] * (points[i].value - center);
      for (std::size_t k = 0; k < 3; ++k) a[j][k] += weights[i] * row[j] * row[k];
    }
  }
  Solution solution;
  solution.covariance = inverse(a);
  for (std::size_t j = 0; j < 3; ++j)
    for (std::size_t k = 0; k < 3; ++k) solution.x[j] += solution.covariance[j][k] * b[k];
  return solution;
}

}  // namespace

Fit fit_clock(const std::vector<FitPoint>& points, bool with_slope) {
  Fit fit;
  if (points.empty()) return fit;
  // From the median, so that wrong ends have no say in the first round.
  std::vector<double> values;
  values.reserve(points.size());
  for (const FitPoint& point : points) values.push_back(point.value - kBiasPrior * point.bias);
  std::vector<double> residuals = values;
  const double center = median(values);
  for (double& residual : residuals) residual -= center;
  std::vector<double> weights(points.size());
  Solution solution;
  for (int round = 0; round < kRounds; ++round) {
    // Residuals in units of what was expected of each point; the scale says how wrong that expectation is.
    for (std::size_t i = 0; i < points.size(); ++i) values[i] = std::abs(residuals[i]) / points[i].sigma;
    const double scale = std::max(1.0, 1.4826 * median(values));
    bool changed = round == 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double sigma = scale * points[i].sigma;
      const double weight = std::abs(residuals[i]) <= kOutlier * sigma ? 1 / (sigma * sigma) : 0;
      changed = changed || weight != weights[i];
      weights[i] = weight;
    }
    if (!changed) break;  // so would be every further round
    solution = solve(points, center, weights, with_slope);
    for (std::size_t i = 0; i < points.size(); ++i) {
      residuals[i] = points[i].value - center - solution.x[0] - (with_slope ? solution.x[1] * points[i].time : 0) -
                     solution.x[2] * points[i].bias;
    }
  }
  fit.offset = center + solution.x[0];
  fit.slope = with_slope ? solution.x[1] : 0;
  fit.bias = solution.x[2];
  fit.offset_error = std::sqrt(std::max(0.0, solution.covariance[0][0]));
  fit.slope_error = with_slope ? std::sqrt(std::max(0.0, solution.covariance[1][1])) : 0;
  values.clear();
  for (std::size_t i = 0; i < points.size(); ++i)
    if (weights[i] > 0) values.push_back(std::abs(residuals[i]));
  fit.spread = 1.4826 * median(values);
  return fit;
}

}  // namespace accel::fusion
