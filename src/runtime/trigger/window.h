// Window: the last n values of one expression of a rule, in memory that the rule owns. Every figure is O(n) at worst
// with n <= kMaxWindow. One thread; no allocation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace accel::runtime {

inline constexpr std::uint32_t kMaxWindow = 1024;

enum class WindowKind : std::uint8_t { mean, sum, deviation, lowest, highest, percentile, delta, stable, baseline };

class Window {
 public:
  // `memory` holds doubles_needed(kind, size) doubles and outlives the window.
  void init(WindowKind kind, std::uint32_t size, double parameter, double* memory);
  static std::size_t doubles_needed(WindowKind kind, std::uint32_t size);

  void push(double value);
  // NaN = unknown: fewer than `size` values so far (delta: size + 1). stable: 1 or 0.
  double figure() const;
  void clear();

 private:
  void insert_sorted(double value);
  void remove_sorted(double value);
  void add_to_sum(double value, bool replaces, double old);

  double* values_ = nullptr;  // ring
  double* sorted_ = nullptr;  // the same, ascending; percentiles and baseline only
  double sum_ = 0;
  double parameter_ = 0;  // percentile: 1 to 100; stable: the band
  std::uint32_t size_ = 0;
  std::uint32_t used_ = 0;
  std::uint32_t next_ = 0;
  WindowKind kind_ = WindowKind::mean;
};

}  // namespace accel::runtime
