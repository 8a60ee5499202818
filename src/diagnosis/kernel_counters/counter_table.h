// Hardware counters per kernel as `ncu --csv` prints them: one line per kernel and metric, or (--page raw) one line per
// kernel and one column per metric. Lines of ncu and of the program around the table are passed over. Pure functions,
// any thread; linear in the text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace accel {

struct KernelMetric {
  double value = 0;  // mean over the launches
  std::string unit;  // as ncu states it
};

// One kernel with one launch configuration.
struct KernelCounters {
  std::string name;        // as ncu prints it
  std::string short_name;  // as tables of kernels show it
  std::string grid;        // "132x1x1"; empty = not stated
  std::string block;
  std::string device;  // compute capability as stated: "9.0"
  std::uint64_t launches = 0;
  std::map<std::string, KernelMetric> metrics;  // by raw name, in base units: bytes, ns, %

  std::map<std::string, double> values() const;
};

// Bounds of what is read: more is no table that a person made.
inline constexpr std::size_t kLargestCounterText = std::size_t{256} << 20;
inline constexpr std::size_t kMostCounterKernels = 100'000;

// ErrorCode::not_a_trace where there is no such table. In the order in which kernels first appear.
Result<std::vector<KernelCounters>> read_counter_table(std::string_view text, const std::string& source);

// Finds the entry of a kernel as another tool calls it: with the same launch configuration where both state one. Names
// of tools differ in namespaces and templates; what remains ambiguous is not matched. Keeps pointers into `all`.
class CounterIndex {
 public:
  explicit CounterIndex(const std::vector<KernelCounters>& all);
  const KernelCounters* find(std::string_view name, std::string_view grid, std::string_view block) const;

 private:
  using Entries = std::map<std::string, std::vector<const KernelCounters*>, std::less<>>;
  Entries by_short_name_;
  Entries by_last_part_;
};

}  // namespace accel
