#include "runtime/session/window_plan.h"

#include <algorithm>

namespace accel::runtime {
namespace {

constexpr double kSteadySpread = 0.03;
constexpr double kCycleJump = 0.1;
constexpr std::uint32_t kLongestCycle = 8;
constexpr std::uint32_t kFewestSteps = 6;
constexpr std::uint32_t kRounds = 3;  // of a cycle, before it is believed

double difference(std::uint64_t a, std::uint64_t b) {
  const auto longer = static_cast<double>(a > b ? a : b);
  return longer == 0 ? 0 : static_cast<double>(a > b ? a - b : b - a) / longer;
}

}  // namespace

// Compares each step with the one a period before. Three quarters of the pairs must agree: a few outliers are no
// unrest.
bool StepHistory::repeats_after(std::uint32_t period) const {
  if (used_ < kRounds * period || used_ < kFewestSteps) return false;
  double differences[kSteps];
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i + period < used_; ++i) differences[count++] = difference(ago(i), ago(i + period));
  const std::uint32_t at = count * 3 / 4;
  std::nth_element(differences, differences + at, differences + count);
  return differences[at] < kSteadySpread;
}

std::uint32_t StepHistory::jumps_after(std::uint32_t period) const {
  std::uint32_t jumps = 0;
  for (std::uint32_t i = 0; i + period < used_; ++i)
    jumps += difference(ago(i), ago(i + period)) > kCycleJump ? 1U : 0U;
  return jumps;
}

// Neighbours jump at least once a round, and steps a period apart hardly do. (A few outliers jump at any distance.)
bool StepHistory::differs_within(std::uint32_t period) const {
  const std::uint32_t jumps = jumps_after(1);
  return jumps * period >= used_ - 1 && jumps_after(period) * 4 <= jumps;
}

std::uint32_t StepHistory::cycle() const {
  for (std::uint32_t period = 2; period <= kLongestCycle; ++period) {
    if (repeats_after(period) && differs_within(period)) return period;
  }
  return repeats_after(1) ? 1 : 0;
}

std::uint64_t StepHistory::usual() const {
  if (cycle() != 1) return 0;
  std::uint64_t sorted[kSteps];
  for (std::uint32_t i = 0; i < used_; ++i) sorted[i] = ago(i);
  std::nth_element(sorted, sorted + used_ / 2, sorted + used_);
  return sorted[used_ / 2];
}

void WindowPlan::begin(const Schedule& schedule) {
  *this = WindowPlan();
  phase_ = Phase::waiting;
  wait_left_ = schedule.wait;
  steady_left_ = schedule.steady_wait;
  asks_steady_ = schedule.steady_wait > 0;
  warmup_left_ = schedule.warmup;
  active_ = schedule.active;
  start_step_ = schedule.start_step;
}

WindowPlan::Move WindowPlan::open() {
  phase_ = warmup_left_ > 0 ? Phase::warmup : Phase::active;
  return Move::open;
}

WindowPlan::Move WindowPlan::armed_step(const StepHistory& history, std::int64_t next_step) {
  if (start_step_ > 0) {  // what others count on is neither waited past nor made longer
    const std::int64_t before = std::int64_t{start_step_} - next_step;
    if (before > std::int64_t{warmup_left_}) return Move::stay;
    late_ = before < 0;
    warmup_left_ = before < 0 ? 0 : static_cast<std::uint32_t>(before);
    return open();
  }
  if (wait_left_ > 0) {
    --wait_left_;
    return Move::stay;
  }
  cycle_ = history.cycle();
  if (asks_steady_ && cycle_ == 0) {
    if (steady_left_ > 0) {
      --steady_left_;
      return Move::stay;
    }
    steady_ = false;
  }
  if (asks_steady_ && cycle_ > 1 && active_ < 2 * cycle_) active_ = 2 * cycle_;
  return open();
}

WindowPlan::Move WindowPlan::window_step() {
  if (phase_ == Phase::warmup) {
    if (--warmup_left_ > 0) return Move::stay;
    phase_ = Phase::active;
    return Move::keep_from_here;
  }
  if (++kept_ < active_) return Move::stay;
  phase_ = Phase::outside;
  return Move::close;
}

}  // namespace accel::runtime
