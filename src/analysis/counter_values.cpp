#include "analysis/counter_values.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace accel {
namespace {

constexpr double kLargestBits = 9007199254740992.0;  // 2^53: beyond it a double holds no single bits

}  // namespace

CounterValues::CounterValues(const TraceStore& store) : store_(store) {
  std::map<std::string_view, Counter> by_name;
  for (std::size_t i = 0; i < store.counters.size(); ++i) {
    Counter& counter = by_name[store.text(store.counters.name[i])];
    counter.name = store.counters.name[i];
    counter.samples.emplace_back(store.counters.time_ns[i], store.counters.value[i]);
  }
  for (std::size_t i = 0; i < store.counter_infos.size(); ++i) {
    const auto known = by_name.find(store.text(store.counter_infos.name[i]));
    if (known == by_name.end()) continue;
    Counter& counter = known->second;
    counter.unit = store.counter_infos.unit[i];
    counter.source = store.counter_infos.source[i];
    counter.refresh_ns = std::max<std::int64_t>(0, store.counter_infos.refresh_ns[i]);
    const std::uint8_t kind = store.counter_infos.kind[i];
    counter.kind = kind <= 2 ? static_cast<CounterKind>(kind) : CounterKind::level;
  }
  for (auto& [name, counter] : by_name) {
    std::stable_sort(counter.samples.begin(), counter.samples.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    counters_.push_back(std::move(counter));
  }
}

const CounterValues::Counter* CounterValues::find(std::string_view name) const {
  const auto at = std::lower_bound(
      counters_.begin(), counters_.end(), name,
      [&](const Counter& counter, std::string_view wanted) { return store_.text(counter.name) < wanted; });
  return at != counters_.end() && store_.text(at->name) == name ? &*at : nullptr;
}

CounterFigures CounterValues::over(const Counter& counter, Interval interval) const {
  CounterFigures figures;
  if (interval.length_ns() <= 0 || interval.length_ns() < counter.refresh_ns) {
    figures.why_not = "the interval is shorter than the time in which the counter changes";
    return figures;
  }
  const auto before = [](const auto& sample, std::int64_t time) { return sample.first < time; };
  const auto first = std::lower_bound(counter.samples.begin(), counter.samples.end(), interval.start_ns, before);
  const auto end = std::lower_bound(first, counter.samples.end(), interval.end_ns, before);
  double sum = 0;
  for (auto at = first; at != end; ++at) {
    if (!std::isfinite(at->second)) continue;
    ++figures.samples;
    figures.last = at->second;
    if (counter.kind == CounterKind::bits) {
      if (at->second >= 0 && at->second < kLargestBits) figures.bits |= static_cast<std::uint64_t>(at->second);
      continue;
    }
    if (figures.samples == 1) figures.lowest = figures.highest = figures.increase = at->second;
    figures.lowest = std::min(*figures.lowest, at->second);
    figures.highest = std::max(*figures.highest, at->second);
    sum += at->second;
  }
  if (figures.samples == 0) {
    figures.why_not = "no sample fell into the interval";
    return figures;
  }
  if (counter.kind == CounterKind::level) figures.mean = sum / static_cast<double>(figures.samples);
  figures.increase = counter.kind == CounterKind::total && figures.samples > 1
                         ? std::optional<double>(*figures.last - *figures.increase)
                         : std::nullopt;
  return figures;
}

}  // namespace accel
