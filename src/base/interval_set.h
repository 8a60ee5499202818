// Sets of half-open time intervals [start, end) in int64 ns: union, intersection, difference, length. A set is always
// sorted and disjoint. Plain values; no thread rules.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace accel {

struct Interval {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t length_ns() const { return end_ns - start_ns; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

class IntervalSet {
 public:
  IntervalSet() = default;
  // The union of any intervals, in any order; empty and negative ones are ignored.
  static IntervalSet from_unsorted(std::vector<Interval> intervals);
  // Intervals sorted by start; they may overlap.
  static IntervalSet from_sorted(std::span<const Interval> intervals);

  // A view into the set; a set that is a temporary would die under it (range-for does not keep it alive).
  std::span<const Interval> intervals() const& { return intervals_; }
  std::span<const Interval> intervals() && = delete;
  bool empty() const { return intervals_.empty(); }
  std::size_t size() const { return intervals_.size(); }
  std::int64_t total_ns() const;

  IntervalSet united(const IntervalSet& other) const;
  IntervalSet intersected(const IntervalSet& other) const;
  IntervalSet minus(const IntervalSet& other) const;
  // The part inside [window.start_ns, window.end_ns).
  IntervalSet clipped(Interval window) const;
  // window minus this set: the gaps.
  IntervalSet gaps_in(Interval window) const;

  friend bool operator==(const IntervalSet&, const IntervalSet&) = default;

 private:
  std::vector<Interval> intervals_;
};

}  // namespace accel
