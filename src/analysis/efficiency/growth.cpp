#include "analysis/efficiency/growth.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace accel {
namespace {

constexpr std::size_t kFewestSizes = 4;
// Sizes that lie closer together than this say nothing about growth.
constexpr double kSmallestSpread = 4;
// Below this no single power describes the times: other dimensions than the size decide.
constexpr double kFit = 0.7;

bool fit(SizeGrowth& growth) {
  const double n = static_cast<double>(growth.points.size());
  double sx = 0, sy = 0;
  for (const SizeGrowth::Point& point : growth.points) {
    sx += std::log(point.elements);
    sy += std::log(point.mean_ns);
  }
  double xx = 0, xy = 0, yy = 0;
  for (const SizeGrowth::Point& point : growth.points) {
    const double x = std::log(point.elements) - sx / n, y = std::log(point.mean_ns) - sy / n;
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  if (xx <= 0) return false;
  growth.exponent = xy / xx;
  growth.fit = yy > 0 ? xy * xy / (xx * yy) : 1;
  return true;
}

}  // namespace

std::vector<SizeGrowth> growth_of(const std::vector<WorkGroup>& groups) {
  struct Sum {
    double ns = 0;
    std::uint64_t calls = 0;
    ArgsId args;
  };
  std::map<std::pair<StringId, TensorType>, std::map<double, Sum>> ops;
  for (const WorkGroup& group : groups) {
    if (!group.op.valid() || group.input_elements <= 0 || group.device_ns <= 0 || group.communication) continue;
    Sum& sum = ops[{group.op, group.work.type}][group.input_elements];
    sum.ns += group.device_ns;
    sum.calls += group.calls;
    if (!sum.args.valid()) sum.args = group.args;
  }
  std::vector<std::pair<double, SizeGrowth>> found;
  for (const auto& [key, sizes] : ops) {
    if (sizes.size() < kFewestSizes || sizes.rbegin()->first < kSmallestSpread * sizes.begin()->first) continue;
    SizeGrowth growth;
    growth.op = key.first;
    growth.type = key.second;
    double total = 0;
    for (const auto& [elements, sum] : sizes) {
      growth.points.push_back({elements, sum.ns / static_cast<double>(sum.calls), sum.calls, sum.args});
      total += sum.ns;
    }
    if (fit(growth) && growth.fit >= kFit) found.emplace_back(total, std::move(growth));
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<SizeGrowth> result;
  result.reserve(found.size());
  for (auto& [total, growth] : found) result.push_back(std::move(growth));
  return result;
}

}  // namespace accel
