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
constexpr double kChangeScore = 6.5;  // of t: noise of 10 % exceeds it in no series of a hundred, over all stretches
constexpr double kChangeSeparated = 0.8;  // of each side's steps lie on their side of the middle
constexpr std::size_t kMostChanges = 16;
// Drift: a tenth of a step over the capture, in the direction in which most pairs of steps agree.
constexpr double kDriftShare = 0.10;
constexpr double kDriftAgree = 0.5;
constexpr double kDriftScore = 4;  // standard deviations of Kendall's count: chance reaches it once in 16,000
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
Split best_split(const std::vector<double>& sums, const std::vector<double>& squares, double level, std::size_t first,
                 std::size_t last) {
  Split best;
  for (std::size_t at = first + kChangeSide; at + kChangeSide <= last; ++at) {
    const double n1 = static_cast<double>(at - first), n2 = static_cast<double>(last - at);
    const double mean1 = (sums[at] - sums[first]) / n1, mean2 = (sums[last] - sums[at]) / n2;
    const double var1 = std::max(0.0, (squares[at] - squares[first]) / n1 - mean1 * mean1) * n1 / (n1 - 1);
    const double var2 = std::max(0.0, (squares[last] - squares[at]) / n2 - mean2 * mean2) * n2 / (n2 - 1);
    // No clock is better than a hundredth of a percent: equal durations must not divide by zero.
    const double pooled = ((n1 - 1) * var1 + (n2 - 1) * var2) / (n1 + n2 - 2);
    // Four steps may agree by chance: the noise of one side alone does not decide.
    const double error = std::sqrt(std::max(var1 / n1 + var2 / n2, pooled * (1 / n1 + 1 / n2))) +
                         1e-4 * (level + std::max(mean1, mean2));
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

// A straight line describes [first, last) better than two levels: a drift, not a change.
bool is_line(const std::vector<double>& values, std::size_t first, std::size_t at, std::size_t last) {
  const auto n = static_cast<double>(last - first);
  const double level = values[first];
  double y = 0, xy = 0, yy = 0, y1 = 0, yy1 = 0;
  for (std::size_t k = first; k < last; ++k) {
    const double value = values[k] - level;
    y += value;
    yy += value * value;
    xy += value * (static_cast<double>(k - first) - (n - 1) / 2);
    if (k >= at) continue;
    y1 += value;
    yy1 += value * value;
  }
  const double n1 = static_cast<double>(at - first), n2 = static_cast<double>(last - at);
  const double line = yy - y * y / n - xy * xy / (n * (n * n - 1) / 12);
  const double levels = (yy1 - y1 * y1 / n1) + ((yy - yy1) - (y - y1) * (y - y1) / n2);
  return line < levels;
}

struct Candidate {
  std::size_t first, at, last;
  double score;
};

// Stretches of the series of all lengths, each half covered by the next (seeded binary segmentation): a change that
// lies between two others is alone in some of them.
std::vector<std::pair<std::size_t, std::size_t>> stretches_of(std::size_t size) {
  std::vector<std::pair<std::size_t, std::size_t>> list{{0, size}};
  auto length = static_cast<double>(size);
  while (true) {
    length /= std::sqrt(2.0);
    const auto own = static_cast<std::size_t>(std::ceil(length));
    if (own < kChangeSteps) break;
    const std::size_t count = 2 * ((size + own - 1) / own) - 1;
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t first = count > 1 ? k * (size - own) / (count - 1) : 0;
      list.emplace_back(first, first + own);
    }
  }
  return list;
}

// Positions at which the pace changes, ascending: the clearest split of any stretch, then the clearest of the stretches
// that do not hold it, and so on; neighbours that are of one pace after all are joined.
std::vector<std::size_t> find_changes(const std::vector<double>& values) {
  std::vector<std::size_t> changes;
  if (values.size() < kChangeSteps) return changes;
  std::vector<double> sums(values.size() + 1, 0), squares(values.size() + 1, 0);
  const double level = median_of(values);  // near zero mean: squares of small numbers keep their digits
  for (std::size_t k = 0; k < values.size(); ++k) {
    sums[k + 1] = sums[k] + (values[k] - level);
    squares[k + 1] = squares[k] + (values[k] - level) * (values[k] - level);
  }
  std::vector<Candidate> candidates;
  for (const auto& [first, last] : stretches_of(values.size())) {
    const Split split = best_split(sums, squares, level, first, last);
    if (split.score < kChangeScore || !separated(values, first, split.at, last)) continue;
    if (!is_line(values, first, split.at, last)) candidates.push_back({first, split.at, last, split.score});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
  while (!candidates.empty() && changes.size() < kMostChanges) {
    const std::size_t at = candidates.front().at;
    changes.push_back(at);
    std::erase_if(candidates, [&](const Candidate& other) { return other.first < at && at < other.last; });
  }
  std::sort(changes.begin(), changes.end());
  for (std::size_t k = 0; k < changes.size();) {
    const std::size_t first = k == 0 ? 0 : changes[k - 1];
    const std::size_t last = k + 1 < changes.size() ? changes[k + 1] : values.size();
    if (separated(values, first, changes[k], last)) {
      ++k;
      continue;
    }
    changes.erase(changes.begin() + static_cast<std::ptrdiff_t>(k));
    k = 0;
  }
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
  const auto n = static_cast<double>(points);
  const double chance = std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
  if (std::fabs(drift.share) < kDriftShare || agree < kDriftAgree || agree * pairs < kDriftScore * chance)
    return std::nullopt;
  return drift;
}

std::optional<StepPattern> find_pattern(const StepSegmentation& segmentation, const std::vector<SlowStep>& slow,
                                        const std::vector<StepSegmentation::Window>& windows) {
  if (slow.size() < 2 || windows.empty()) return std::nullopt;
  StepPattern pattern;
  std::vector<std::int64_t> numbers;
  numbers.reserve(slow.size());
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
      "slow steps when four of five of its places are slow. Changes of pace: the clearest division in two of any "
      "stretch "
      "by a t of 6.5 or more and a difference of 10 %, from ten steps on, four at least on each side, slow steps "
      "pulled "
      "in, unless a straight line fits better. Drift: the median slope of all pairs when it makes 10 % of a step over "
      "the capture and the pairs agree beyond chance (four standard deviations of Kendall's count).",
      run};
}

}  // namespace accel
