// CounterValues: what a counter said in any interval of time: a step, a scope, an idle gap. Nothing is interpolated: an
// interval without a sample, or shorter than the time in which the counter changes, was not measured. Built once per
// store (it keeps a reference), then read by any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/interval_set.h"
#include "trace/trace_store.h"

namespace accel {

enum class CounterKind : std::uint8_t { level = 0, total = 1, bits = 2 };

struct CounterFigures {
  std::uint64_t samples = 0;
  std::optional<double> mean;      // of the samples; levels only
  std::optional<double> lowest;    // levels and totals
  std::optional<double> highest;   // the peak
  std::optional<double> last;      // the state at the end
  std::optional<double> increase;  // totals only, from two samples up
  std::uint64_t bits = 0;          // bits only: every bit that was set in any sample
  std::string_view why_not;        // empty when measured
};

class CounterValues {
 public:
  struct Counter {
    StringId name;
    StringId unit;    // invalid: not stated
    StringId source;  // likewise
    std::int64_t refresh_ns = 0;
    CounterKind kind = CounterKind::level;
    std::vector<std::pair<std::int64_t, double>> samples;  // by time
  };

  explicit CounterValues(const TraceStore& store);

  // By name, in the order of the alphabet.
  const std::vector<Counter>& counters() const { return counters_; }
  const Counter* find(std::string_view name) const;
  // Samples of [start, end).
  CounterFigures over(const Counter& counter, Interval interval) const;

 private:
  const TraceStore& store_;
  std::vector<Counter> counters_;
};

}  // namespace accel
