#include "runtime/trigger/window.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace accel::runtime {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

bool keeps_sorted(WindowKind kind) { return kind == WindowKind::percentile || kind == WindowKind::baseline; }

// The smallest of sign * value, in four lanes: one minimum after the other would wait for the one before.
template <int sign = 1>
double lowest(const double* values, std::uint32_t count) {
  double lane[4] = {sign * values[0], sign * values[0], sign * values[0], sign * values[0]};
  const auto take = [](double& best, double v) { best = v < best ? v : best; };
  std::uint32_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (std::uint32_t k = 0; k < 4; ++k) take(lane[k], sign * values[i + k]);
  }
  for (; i < count; ++i) take(lane[0], sign * values[i]);
  take(lane[0], lane[1]);
  take(lane[2], lane[3]);
  take(lane[0], lane[2]);
  return lane[0];
}

}  // namespace

std::size_t Window::doubles_needed(WindowKind kind, std::uint32_t size) {
  if (kind == WindowKind::delta) return size + 1;  // the value `size` steps before needs a place of its own
  return keeps_sorted(kind) ? std::size_t{2} * size : size;
}

void Window::init(WindowKind kind, std::uint32_t size, double parameter, double* memory) {
  kind_ = kind;
  size_ = kind == WindowKind::delta ? size + 1 : size;
  parameter_ = parameter;
  values_ = memory;
  sorted_ = keeps_sorted(kind) ? memory + size : nullptr;
  clear();
}

void Window::clear() {
  used_ = 0;
  next_ = 0;
  sum_ = 0;
}

void Window::push(double value) {
  const bool full = used_ == size_;
  if (full && kind_ == WindowKind::baseline) return;  // the first values are the baseline
  const double old = full ? values_[next_] : 0;
  values_[next_] = value;
  next_ = next_ + 1 == size_ ? 0 : next_ + 1;
  if (!full) ++used_;
  if (sorted_ != nullptr) {
    if (full) remove_sorted(old);
    insert_sorted(value);
  } else {
    add_to_sum(value, full, old);
  }
}

void Window::add_to_sum(double value, bool replaces, double old) {
  if (kind_ != WindowKind::mean && kind_ != WindowKind::sum && kind_ != WindowKind::deviation) return;
  sum_ += value;
  if (replaces) sum_ -= old;
  if (next_ == 0) {  // once a round: rounding errors do not pile up over weeks
    sum_ = 0;
    for (std::uint32_t i = 0; i < used_; ++i) sum_ += values_[i];
  }
}

void Window::insert_sorted(double value) {
  const std::uint32_t count = used_ - 1;
  double* at = std::upper_bound(sorted_, sorted_ + count, value);
  std::memmove(at + 1, at, static_cast<std::size_t>(sorted_ + count - at) * sizeof(double));
  *at = value;
}

void Window::remove_sorted(double value) {
  double* at = std::lower_bound(sorted_, sorted_ + used_, value);
  std::memmove(at, at + 1, static_cast<std::size_t>(sorted_ + used_ - at - 1) * sizeof(double));
}

double Window::figure() const {
  if (used_ < size_) return kUnknown;
  switch (kind_) {
    case WindowKind::mean:
      return sum_ / used_;
    case WindowKind::sum:
      return sum_;
    case WindowKind::deviation: {
      const double mean = sum_ / used_;
      double squares = 0;
      for (std::uint32_t i = 0; i < used_; ++i) squares += (values_[i] - mean) * (values_[i] - mean);
      return std::sqrt(squares / used_);
    }
    case WindowKind::lowest:
      return lowest(values_, used_);
    case WindowKind::highest:
      return -lowest<-1>(values_, used_);
    case WindowKind::percentile:  // nearest rank, so that the figure is a value that occurred
      return sorted_[(static_cast<std::uint32_t>(parameter_) * used_ + 99) / 100 - 1];
    case WindowKind::delta:
      return values_[next_ == 0 ? size_ - 1 : next_ - 1] - values_[next_];
    case WindowKind::stable:
      return -lowest<-1>(values_, used_) - lowest(values_, used_) < parameter_ ? 1 : 0;
    case WindowKind::baseline:
      return used_ % 2 == 1 ? sorted_[used_ / 2] : (sorted_[used_ / 2 - 1] + sorted_[used_ / 2]) / 2;
  }
  return kUnknown;
}

}  // namespace accel::runtime
