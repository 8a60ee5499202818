#include "analysis/what_if/roofline_model.h"

#include <algorithm>

namespace accel {
namespace {

// Of the time of the other kernels, this share is spent at a lower efficiency: what is expected, at best, at worst.
constexpr double kExpectedQuantile = 0.5;
constexpr double kBestQuantile = 0.9;
constexpr double kWorstQuantile = 0.25;

}  // namespace

RooflineModel::RooflineModel(const Efficiency& efficiency) : efficiency_(efficiency) {
  for (const auto& [name, kernel] : efficiency.kernels) {
    if (!kernel.roofline.roof_share || kernel.ns <= 0) continue;
    others_[kernel.roofline.bound].push_back({*kernel.roofline.roof_share, kernel.ns, name});
  }
  for (auto& [bound, list] : others_)
    std::stable_sort(list.begin(), list.end(), [](const Other& a, const Other& b) { return a.share < b.share; });
}

double RooflineModel::factor(StringId kernel, Outcome outcome) const {
  const auto at = efficiency_.kernels.find(kernel.value);
  if (at == efficiency_.kernels.end() || !at->second.roofline.roof_share) return 1;
  const auto list = others_.find(at->second.roofline.bound);
  if (list == others_.end()) return 1;
  double total = 0;
  for (const Other& other : list->second) total += other.kernel == kernel.value ? 0 : other.ns;
  const double quantile = outcome == Outcome::expected ? kExpectedQuantile
                          : outcome == Outcome::best   ? kBestQuantile
                                                       : kWorstQuantile;
  double reached = 0;
  double sum = 0;
  for (const Other& other : list->second) {
    if (other.kernel == kernel.value) continue;
    reached = other.share;
    sum += other.ns;
    if (sum >= quantile * total) break;
  }
  const double own = *at->second.roofline.roof_share;
  return own > 0 && reached > own ? own / reached : 1;
}

}  // namespace accel
