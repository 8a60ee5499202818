// Weighted least squares with three unknowns and a prior, made robust: what one clock differs from the others by.
// Private to the clock alignment.
#pragma once

#include <array>
#include <vector>

namespace accel::fusion {

struct FitPoint {
  double time = 0;   // s from the middle
  double bias = 0;   // ns that a bias of 1 would add
  double value = 0;  // ns
  double sigma = 1;  // ns, expected spread of this point
};

struct Fit {
  double offset = 0;        // ns, in the middle
  double slope = 0;         // ns per s
  double bias = 0;          // share of the transfer
  double spread = 0;        // ns, robust, of the residuals
  double offset_error = 0;  // ns, one sigma, what bias and slope leave open included
  double slope_error = 0;   // ns per s
};

// `with_slope`: false keeps it 0.
Fit fit_clock(const std::vector<FitPoint>& points, bool with_slope);

}  // namespace accel::fusion
