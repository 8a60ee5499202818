#include "base/interval_set.h"

#include <algorithm>

namespace accel {
namespace {

// Appends to a sorted, disjoint list, joining with the last interval when they touch.
void append_joined(std::vector<Interval>& list, Interval next) {
  if (next.end_ns <= next.start_ns) return;
  if (!list.empty() && next.start_ns <= list.back().end_ns) {
    list.back().end_ns = std::max(list.back().end_ns, next.end_ns);
    return;
  }
  list.push_back(next);
}

}  // namespace

IntervalSet IntervalSet::from_unsorted(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
  return from_sorted(intervals);
}

IntervalSet IntervalSet::from_sorted(std::span<const Interval> intervals) {
  IntervalSet set;
  for (const Interval& interval : intervals) append_joined(set.intervals_, interval);
  return set;
}

std::int64_t IntervalSet::total_ns() const {
  std::int64_t total = 0;
  for (const Interval& interval : intervals_) total += interval.length_ns();
  return total;
}

IntervalSet IntervalSet::united(const IntervalSet& other) const {
  std::vector<Interval> both;
  both.reserve(intervals_.size() + other.intervals_.size());
  std::merge(intervals_.begin(), intervals_.end(), other.intervals_.begin(), other.intervals_.end(),
             std::back_inserter(both), [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
  return from_sorted(both);
}

IntervalSet IntervalSet::intersected(const IntervalSet& other) const {
  IntervalSet set;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < intervals_.size() && j < other.intervals_.size()) {
    const Interval& a = intervals_[i];
    const Interval& b = other.intervals_[j];
    append_joined(set.intervals_, {std::max(a.start_ns, b.start_ns), std::min(a.end_ns, b.end_ns)});
    if (a.end_ns < b.end_ns) {
      ++i;
    } else {
      ++j;
    }
  }
  return set;
}

IntervalSet IntervalSet::minus(const IntervalSet& other) const {
  IntervalSet set;
  std::size_t j = 0;
  for (const Interval& interval : intervals_) {
    std::int64_t at = interval.start_ns;
    while (j < other.intervals_.size() && other.intervals_[j].end_ns <= at) ++j;
    for (std::size_t k = j; k < other.intervals_.size() && other.intervals_[k].start_ns < interval.end_ns; ++k) {
      append_joined(set.intervals_, {at, other.intervals_[k].start_ns});
      at = std::max(at, other.intervals_[k].end_ns);
    }
    append_joined(set.intervals_, {at, interval.end_ns});
  }
  return set;
}

IntervalSet IntervalSet::clipped(Interval window) const {
  IntervalSet set;
  auto it = std::partition_point(intervals_.begin(), intervals_.end(),
                                 [&](const Interval& i) { return i.end_ns <= window.start_ns; });
  for (; it != intervals_.end() && it->start_ns < window.end_ns; ++it) {
    append_joined(set.intervals_, {std::max(it->start_ns, window.start_ns), std::min(it->end_ns, window.end_ns)});
  }
  return set;
}

IntervalSet IntervalSet::gaps_in(Interval window) const {
  IntervalSet whole;
  append_joined(whole.intervals_, window);
  return whole.minus(clipped(window));
}

}  // namespace accel
