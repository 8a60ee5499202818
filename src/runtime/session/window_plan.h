// WindowPlan: which steps of a schedule are waited for, warmed up and kept, decided at step marks. StepHistory: the
// last step times, whether they are steady, and the cycle in them (gradient accumulation makes every n-th step longer).
// Pure data of fixed size, one thread (the one that marks steps).
#pragma once

#include <cstdint>

namespace accel::runtime {

class StepHistory {
 public:
  static constexpr std::uint32_t kSteps = 24;
  void add(std::uint64_t duration_ticks) {
    steps_[next_] = duration_ticks;
    next_ = next_ + 1 == kSteps ? 0 : next_ + 1;
    if (used_ < kSteps) ++used_;
  }
  // Length of the cycle in the steps, 1 = every step is like the others, 0 = the steps are not steady or too few.
  // Steady: steps at the same place of the cycle differ by less than 3 % (the median over the places and rounds).
  std::uint32_t cycle() const;
  // The median step where every step is like the others, 0 where they are not steady or too few.
  std::uint64_t usual() const;

 private:
  std::uint64_t ago(std::uint32_t steps) const { return steps_[(next_ + kSteps - 1 - steps) % kSteps]; }
  bool repeats_after(std::uint32_t period) const;
  bool differs_within(std::uint32_t period) const;
  std::uint32_t jumps_after(std::uint32_t period) const;

  std::uint64_t steps_[kSteps] = {};
  std::uint32_t next_ = 0;
  std::uint32_t used_ = 0;
};

struct Schedule {
  std::uint32_t wait = 0;
  std::uint32_t warmup = 1;
  std::uint32_t active = 5;
  std::uint32_t repeat = 1;
  std::uint32_t level = 2;
  std::uint32_t steady_wait = 20;
  std::uint32_t start_step = 0;  // index of the first kept step, agreed among ranks; 0: as soon as can be
  std::uint32_t device = 0;      // ACCEL_DEVICE_BY_SESSION, ...
};

class WindowPlan {
 public:
  enum class Phase : std::uint8_t { outside = 0, waiting = 1, warmup = 2, active = 3 };  // numbers as in the file
  enum class Move : std::uint8_t { stay, open, keep_from_here, close };

  void begin(const Schedule& schedule);
  // At a step mark while the window is armed and prepared: stay or open.
  // `next_step`: index of the step that begins here.
  Move armed_step(const StepHistory& history, std::int64_t next_step);
  // At a step mark inside the window: stay, keep_from_here (the warm-up is over) or close.
  Move window_step();

  Phase phase() const { return phase_; }
  std::uint32_t kept_steps() const { return kept_; }
  std::uint32_t planned_steps() const { return active_; }
  bool was_steady() const { return steady_; }
  std::uint32_t cycle() const { return cycle_; }
  // The step that was agreed on had already begun.
  bool was_late() const { return late_; }

 private:
  Move open();
  Phase phase_ = Phase::outside;
  bool steady_ = true;
  std::uint32_t wait_left_ = 0;
  std::uint32_t steady_left_ = 0;
  std::uint32_t warmup_left_ = 0;
  std::uint32_t active_ = 0;
  std::uint32_t kept_ = 0;
  std::uint32_t cycle_ = 0;
  std::uint32_t start_step_ = 0;
  bool asks_steady_ = false;
  bool late_ = false;
};

}  // namespace accel::runtime
