// RuleSet: the rules of a session and the numbers that the step mark itself computes for them. Evaluated by the thread
// that marks steps; changed under the session's lock while no step is being marked.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/session/capture.h"
#include "runtime/trigger/rule.h"

namespace accel::runtime {

class RuleSet {
 public:
  static constexpr std::uint32_t kMaxRules = 32;

  // Null when memory is short.
  static RuleSet* make(NumberTable& numbers);

  bool add(Rule::Owner rule);
  void clear();
  std::uint32_t count() const { return count_; }
  const Rule& rule(std::uint32_t at) const { return *rules_[at]; }

  // Fills in the built-in numbers of the step and evaluates: a bit per rule that acts now.
  std::uint32_t step(const StepRecord& record, double step_ms, std::int64_t now_ns);

 private:
  explicit RuleSet(NumberTable& numbers) : numbers_(numbers) {}
  void baseline(double step_ms);

  static constexpr std::uint32_t kBaselineSkips = 5;
  static constexpr std::uint32_t kBaselineSteps = 64;
  NumberTable& numbers_;
  Rule::Owner rules_[kMaxRules];
  std::uint32_t count_ = 0;
  double last_loss_ = 0;
  bool has_loss_ = false;
  std::uint32_t stable_ = 0;
  std::uint32_t baseline_seen_ = 0;
  double baseline_[kBaselineSteps] = {};
};

}  // namespace accel::runtime
