#include "runtime/session/rule_set.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>
#include <utility>

namespace accel::runtime {

RuleSet* RuleSet::make(NumberTable& numbers) {
  void* memory = std::malloc(sizeof(RuleSet));
  return memory == nullptr ? nullptr : new (memory) RuleSet(numbers);
}

bool RuleSet::add(Rule::Owner rule) {
  if (count_ == kMaxRules) return false;
  rules_[count_++] = std::move(rule);
  return true;
}

void RuleSet::clear() {
  for (std::uint32_t i = 0; i < count_; ++i) rules_[i].reset();
  count_ = 0;
}

void RuleSet::baseline(double step_ms) {
  if (baseline_seen_ == kBaselineSkips + kBaselineSteps) return;
  if (baseline_seen_ >= kBaselineSkips) baseline_[baseline_seen_ - kBaselineSkips] = step_ms;
  if (++baseline_seen_ < kBaselineSkips + kBaselineSteps) return;
  std::nth_element(baseline_, baseline_ + kBaselineSteps / 2, baseline_ + kBaselineSteps);
  numbers_.set(BuiltIn::baseline_step_ms, baseline_[kBaselineSteps / 2]);
}

std::uint32_t RuleSet::step(const StepRecord& record, double step_ms, std::int64_t now_ns) {
  constexpr double kStableShare = 1e-3;
  const auto give = [&](BuiltIn number, bool known, double value) {
    known ? numbers_.set(number, value) : numbers_.forget(number);
  };
  numbers_.set(BuiltIn::step, static_cast<double>(record.step));
  numbers_.set(BuiltIn::step_time_ms, step_ms);
  baseline(step_ms);
  give(BuiltIn::throughput, !std::isnan(record.samples) && step_ms > 0, record.samples / step_ms * 1e3);
  give(BuiltIn::epoch, record.epoch >= 0, static_cast<double>(record.epoch));
  const double wait_ms = static_cast<double>(record.loader_wait_ns) * 1e-6;
  give(BuiltIn::dataloader_wait_ms, record.loader_wait_ns >= 0, wait_ms);
  give(BuiltIn::dataloader_wait_ratio, record.loader_wait_ns >= 0 && step_ms > 0, wait_ms / step_ms);
  // A NaN cannot be told from "not given" here; accel_record("loss", NAN) says it.
  const NumberValue recorded = numbers_.get(BuiltIn::loss);
  if (!std::isnan(record.loss)) {
    numbers_.set(BuiltIn::loss, record.loss);
    if (has_loss_) {
      const double delta = std::fabs(record.loss - last_loss_);
      stable_ = delta < kStableShare * std::fabs(last_loss_) ? stable_ + 1 : 0;
      numbers_.set(BuiltIn::loss_delta, delta);
      numbers_.set(BuiltIn::loss_stable_count, stable_);
    }
    last_loss_ = record.loss;
    has_loss_ = true;
  } else if (has_loss_ && recorded.state == NumberValue::State::known && recorded.value == last_loss_) {
    numbers_.forget(BuiltIn::loss);
  }
  std::uint32_t fired = 0;
  for (std::uint32_t i = 0; i < count_; ++i) {
    if (rules_[i]->fires(numbers_, now_ns)) fired |= 1U << i;
  }
  return fired;
}

}  // namespace accel::runtime
