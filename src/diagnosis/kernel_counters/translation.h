// Hardware counters in words: what a value means, whether it is a reason for a kernel to be slow, and which reason
// stands first. The table is metrics.def. Pure functions, any thread.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace accel {

enum class Side : unsigned char { none, low, high };

struct MetricRow {
  std::string_view name;
  std::string_view unit;
  std::string_view phrase;
  Side side;
  double limit;
  std::string_view because;
  std::string_view suggests;
  std::string_view source;
};

std::span<const MetricRow> metric_rows();

struct CounterReading {
  const MetricRow* row = nullptr;
  double value = 0;
  bool is_reason = false;
  std::string sentence;  // "occupancy: how full the multiprocessors were with warps: 12.2 %"
};

// The values that the table knows, with the derived ones, in the table's order. What is not finite is left out.
std::vector<CounterReading> read_counters(const std::map<std::string, double>& values);

// Why `kernel` is not faster: ways of working that waste a unit come before a unit that is full, and these before what
// the warps wait for, of which only the largest counts, and only where the schedulers do not find work. Low occupancy
// is no reason where a unit is full, nor for matrix kernels of the libraries, which are built for it. At most three,
// the first is the reason. Pointers into `readings`.
std::vector<const CounterReading*> reasons(const std::vector<CounterReading>& readings, std::string_view kernel);

// "12.2 %", "4.1 GB", "2.3 warps".
std::string value_text(double value, std::string_view unit);

}  // namespace accel
