#include "analysis/step_history.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/analysis.h"

namespace accel {
namespace {

// Fewer steps than this have no rest to be far from.
constexpr std::size_t kFewestSteps = 4;
// Slow is a quarter more than the others take, and beyond four of their standard deviations (1.4826 median deviations
// are one for normal noise).
constexpr double kSlowShare = 0.25;
constexpr double kSlowSigmas = 4;
constexpr double kSigmaOfMad = 1.4826;
// Slow steps are a minority: with more of them it is not said which are the odd ones.
constexpr double kMinority = 1.0 / 3;
// A change of pace: 10 % at least; with fewer than ten steps, or fewer than four on one side, chance separates them.
constexpr double kChangeShare = 0.10;
constexpr std::size_t kChangeSteps = 10;
constexpr std::size_t kChangeSide = 4;
constexpr double kChangeScore = 6;  // of Welch's t: over all splits of 10 noisy steps one in a thousand exceeds it
constexpr double kChangeSeparated = 0.8;  // of each side's steps lie on their side of the middle
constexpr std::size_t kMostChanges = 16;
// Drift: a tenth of a step over the capture, in the direction in which most pairs of steps agree.
constexpr double kDriftShare = 0.10;
constexpr double kDriftAgree = 0.5;
constexpr std::size_t kDriftPoints = 256;
// Of the places of a pattern inside the capture, this share is slow.
constexpr double kPatternCovered = 0.8;

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const std::size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle), values.end());
  if (values.size() % 2 == 1) return values[middle];
  const double below = *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle));
  return (below + values[middle]) / 2;
}

double sigma_of(const std::vector<double>& values, double median) {
  std::vector<double> deviations;
  deviations.reserve(values.size());
  for (const double value : values) deviations.push_back(std::fabs(value - median));
  return kSigmaOfMad * median_of(std::move(deviations));
}

// From which duration on a step is slow; infinity where none is.
double slow_from(const std::vector<double>& values) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  if (values.size() < kFewestSteps) return kNone;
  const double median = median_of(values);
  double from = median + std::max(kSlowSigmas * sigma_of(values, median), kSlowShare * median);
  // Few steps: noise of the slow ones is in the deviation. A gap that separates a minority from the rest is clear too.
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const auto least = static_cast<std::size_t>(std::ceil(static_cast<double>(sorted.size()) * (1 - kMinority)));
  double widest = 0;
  std::size_t at = sorted.size();
  for (std::size_t k = std::max<std::size_t>(least, 1); k < sorted.size(); ++k) {
    if (sorted[k] - sorted[k - 1] > widest) {
      widest = sorted[k] - sorted[k - 1];
      at = k;
    }
  }
  if (at < sorted.size()) {
    const std::vector<double> rest(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(at));
    const double usual = median_of(rest);
    if (widest >= std::max(kSlowSigmas * sigma_of(rest, usual), kSlowShare * usual)) from = std::min(from, sorted[at]);
  }
  const auto slow = static_cast<double>(sorted.end() - std::lower_bound(sorted.begin(), sorted.end(), from));
  return slow <= kMinority * static_cast<double>(sorted.size()) ? from : kNone;
}

// Outliers pulled in, so that one of them makes no change of pace.
std::vector<double> tamed(std::vector<double> values) {
  const double median = median_of(values);
  const double reach = kSlowSigmas * std::max(sigma_of(values, median), 0.05 * median);
  for (double& value : values) value = std::clamp(value, median - reach, median + reach);
  return values;
}

struct Split {
  std::size_t at = 0;
  double score = 0;
};

// Where [first, last) divides best into two paces, by sums from the start of the series.
Split best_split(const std::vector<double>& sums, const std::vector<double>& squares, std::size_t first,
                 std::size_t last) {
  Split best;
  for (std::size_t at = first + kChangeSide; at + kChangeSide <= last; ++at) {
    const double n1 = static_cast<double>(at - first), n2 = static_cast<double>(last - at);
    const double mean1 = (sums[at] - sums[first]) / n1, mean2 = (sums[last] - sums[at]) / n2;
    const double var1 = std::max(0.0, (squares[at] - squares[first]) / n1 - mean1 * mean1) * n1 / (n1 - 1);
    const double var2 = std::max(0.0, (squares[last] - squares[at]) / n2 - mean2 * mean2) * n2 / (n2 - 1);
    // No clock is better than a hundredth of a percent: equal durations must not divide by zero.
    const double error = std::sqrt(var1 / n1 + var2 / n2) + 1e-4 * std::max(mean1, mean2);
    const double score = error > 0 ? std::fabs(mean1 - mean2) / error : 0;
    if (score > best.score) best = {at, score};
  }
  return best;
}

bool separated(const std::vector<double>& values, std::size_t first, std::size_t at, std::size_t last) {
  const auto begin = values.begin();
  const auto offset = [&](std::size_t k) { return begin + static_cast<std::ptrdiff_t>(k); };
  const double before = median_of({offset(first), offset(at)});
  const double after = median_of({offset(at), offset(last)});
  if (std::fabs(after - before) < kChangeShare * std::min(before, after)) return false;
  const double middle = (before + after) / 2;
  const auto on_side = [&](std::size_t from, std::size_t to, double level) {
    const auto right =
        std::count_if(offset(from), offset(to), [&](double v) { return (v < middle) == (level < middle); });
    return static_cast<double>(right) >= kChangeSeparated * static_cast<double>(to - from);
  };
  return on_side(first, at, before) && on_side(at, last, after);
}

// Positions at which the pace changes, ascending. Divides the widest-scoring stretch again until none divides.
std::vector<std::size_t> find_changes(const std::vector<double>& values) {
  std::vector<std::size_t> changes;
  if (values.size() < kChangeSteps) return changes;
  std::vector<double> sums(values.size() + 1, 0), squares(values.size() + 1, 0);
  const double level = median_of(values);  // near zero mean: squares of small numbers keep their digits
  for (std::size_t k = 0; k < values.size(); ++k) {
    sums[k + 1] = sums[k] + (values[k] - level);
    squares[k + 1] = squares[k] + (values[k] - level) * (values[k] - level);
  }
  std::vector<std::pair<std::size_t, std::size_t>> open{{0, values.size()}};
  while (!open.empty() && changes.size() < kMostChanges) {
    const auto [first, last] = open.back();
    open.pop_back();
    if (last - first < kChangeSteps) continue;
    const Split split = best_split(sums, squares, first, last);
    if (split.score < kChangeScore || !separated(values, first, split.at, last)) continue;
    changes.push_back(split.at);
    open.emplace_back(first, split.at);
    open.emplace_back(split.at, last);
  }
  std::sort(changes.begin(), changes.end());
  return changes;
}

// The median slope of all pairs of at most kDriftPoints evenly chosen steps, and how many pairs agree with its sign.
std::optional<StepDrift> find_drift(const std::vector<double>& values) {
  if (values.size() < kChangeSteps) return std::nullopt;
  const std::size_t points = std::min(values.size(), kDriftPoints);
  const auto place = [&](std::size_t k) { return k * (values.size() - 1) / (points - 1); };
  std::vector<double> slopes;
  slopes.reserve(points * (points - 1) / 2);
  std::int64_t up = 0, down = 0;
  for (std::size_t a = 0; a < points; ++a) {
    for (std::size_t b = a + 1; b < points; ++b) {
      const double rise = values[place(b)] - values[place(a)];
      slopes.push_back(rise / static_cast<double>(place(b) - place(a)));
      up += rise > 0 ? 1 : 0;
      down += rise < 0 ? 1 : 0;
    }
  }
  StepDrift drift;
  const auto pairs = static_cast<double>(slopes.size());
  const double median = median_of(values);
  drift.ns_per_step = median_of(std::move(slopes));
  if (median <= 0) return std::nullopt;
  drift.share = drift.ns_per_step * static_cast<double>(values.size() - 1) / median;
  const double agree = static_cast<double>(drift.ns_per_step > 0 ? up - down : down - up) / pairs;
  if (std::fabs(drift.share) < kDriftShare || agree < kDriftAgree) return std::nullopt;
  return drift;
}

std::optional<StepPattern> find_pattern(const StepSegmentation& segmentation, const std::vector<SlowStep>& slow,
                                        const std::vector<StepSegmentation::Window>& windows) {
  if (slow.size() < 2 || windows.empty()) return std::nullopt;
  StepPattern pattern;
  std::vector<std::int64_t> numbers;
  for (const SlowStep& step : slow) numbers.push_back(segmentation.steps[step.step].number);
  for (std::size_t k = 1; k < numbers.size(); ++k) pattern.every = std::gcd(pattern.every, numbers[k] - numbers[k - 1]);
  if (pattern.every < 2) return std::nullopt;
  pattern.number = numbers.front();
  pattern.seen = static_cast<std::uint32_t>(numbers.size());
  std::uint64_t places = 0;
  for (const StepSegmentation::Window& window : windows) {
    const std::int64_t distance = segmentation.steps[window.step].number - pattern.number;
    places += distance % pattern.every == 0 ? 1 : 0;
  }
  if (static_cast<double>(numbers.size()) < kPatternCovered * static_cast<double>(places)) return std::nullopt;
  return pattern;
}

// Steps that are compared with each other: those that save a state among the ones that train, other classes each on
// their own.
StepClass group_of(StepClass step_class) { return step_class == StepClass::checkpoint ? StepClass::train : step_class; }

void compare_group(const StepSegmentation& segmentation, const std::vector<StepSegmentation::Window>& windows,
                   StepClass group, StepHistory& history) {
  std::vector<double> values;
  std::vector<std::uint32_t> steps;
  for (const StepSegmentation::Window& window : windows) {
    if (group_of(segmentation.steps[window.step].step_class) != group) continue;
    values.push_back(static_cast<double>(window.time.length_ns()));
    steps.push_back(window.step);
  }
  const std::vector<std::size_t> changes = find_changes(tamed(values));
  std::size_t first = 0;
  double before = 0;
  for (std::size_t part = 0; part <= changes.size(); ++part) {
    const std::size_t last = part < changes.size() ? changes[part] : values.size();
    const std::vector<double> own(values.begin() + static_cast<std::ptrdiff_t>(first),
                                  values.begin() + static_cast<std::ptrdiff_t>(last));
    const double from = slow_from(own);
    std::vector<double> rest;
    for (const double value : own) {
      if (value < from) rest.push_back(value);
    }
    const double usual = median_of(rest);
    if (part > 0) history.changes.push_back({steps[first], before, usual});
    before = usual;
    for (std::size_t k = first; k < last; ++k) {
      if (values[k] >= from) history.slow.push_back({steps[k], static_cast<std::int64_t>(values[k]), usual});
    }
    first = last;
  }
  if (group == StepClass::train && changes.empty()) history.drift = find_drift(tamed(values));
}

Result<void> run(const TraceStore&, AnalysisResults& results, const AnalysisOptions&) {
  const StepSegmentation& segmentation = *results.step_segmentation;
  auto history = std::make_shared<StepHistory>();
  const std::vector<StepSegmentation::Window> windows = segmentation.pace_windows();
  history->count = static_cast<std::uint32_t>(windows.size());
  for (const StepClass group : {StepClass::train, StepClass::evaluation, StepClass::accumulation})
    compare_group(segmentation, windows, group, *history);
  std::sort(history->slow.begin(), history->slow.end(),
            [](const SlowStep& a, const SlowStep& b) { return a.step < b.step; });
  std::sort(history->changes.begin(), history->changes.end(),
            [](const PaceChange& a, const PaceChange& b) { return a.step < b.step; });
  history->pattern = find_pattern(segmentation, history->slow, windows);
  std::vector<double> usual;
  for (const StepSegmentation::Window& window : windows) {
    const bool slow = std::binary_search(history->slow.begin(), history->slow.end(), SlowStep{window.step, 0, 0},
                                         [](const SlowStep& a, const SlowStep& b) { return a.step < b.step; });
    if (!slow) usual.push_back(static_cast<double>(window.time.length_ns()));
  }
  history->usual_ns = median_of(std::move(usual));
  results.step_history = std::move(history);
  return {};
}

}  // namespace

AnalysisDescriptor describe_step_history() {
  return {
      "step_history",
      "Step history",
      "训练步历史",
      {"step_segmentation"},
      "Over the complete steps, on the window of whatever sets the pace. Slow steps: a quarter more than the median of "
      "the others of their class and beyond four standard deviations (from median deviations), or behind a gap as "
      "wide, "
      "when they are at most a third of the steps; at least four steps. Pattern: the greatest common distance of the "
      "slow steps when four of five of its places are slow. Changes of pace: recursive division in two by Welch's t of "
      "six or more and a difference of 10 %, from ten steps on, four at least on each side, slow steps pulled in. "
      "Drift: the median slope of all pairs when it makes 10 % of a step over the capture and the pairs agree.",
      run};
}

}  // namespace accel
