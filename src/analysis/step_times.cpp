#include "analysis/step_times.h"

#include <algorithm>

namespace accel {

StepTimes::StepTimes(const StepSegmentation& segmentation) {
  for (const auto& window : segmentation.host_windows()) windows_.push_back(window.time);
  std::sort(windows_.begin(), windows_.end(),
            [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
  std::int64_t end = windows_.empty() ? 0 : windows_.front().start_ns;
  for (Interval& window : windows_) {
    window.start_ns = std::max(window.start_ns, end);
    window.end_ns = std::max(window.end_ns, window.start_ns);
    end = window.end_ns;
    before_.push_back(total_);
    total_ += window.length_ns();
  }
}

std::int64_t StepTimes::until(std::int64_t time_ns) {
  if (windows_.empty()) return 0;
  find(time_ns);
  const Interval& window = windows_[at_];
  return before_[at_] + std::clamp<std::int64_t>(time_ns - window.start_ns, 0, window.length_ns());
}

bool StepTimes::holds(std::int64_t time_ns) {
  if (windows_.empty()) return false;
  find(time_ns);
  return time_ns >= windows_[at_].start_ns && time_ns < windows_[at_].end_ns;
}

void StepTimes::find(std::int64_t time_ns) {
  const bool fits =
      windows_[at_].start_ns <= time_ns && (at_ + 1 == windows_.size() || time_ns < windows_[at_ + 1].start_ns);
  if (fits) return;
  const auto next = std::upper_bound(windows_.begin(), windows_.end(), time_ns,
                                     [](std::int64_t t, const Interval& window) { return t < window.start_ns; });
  at_ = next == windows_.begin() ? 0 : static_cast<std::size_t>(next - windows_.begin()) - 1;
}

}  // namespace accel
