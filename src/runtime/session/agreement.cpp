#include "runtime/session/agreement.h"

#include <cstdio>

#include "runtime/buffer/detached_thread.h"

namespace accel::runtime {

bool Agreement::ask(accel_agreement_handler handler, void* context, std::int64_t proposed_step,
                    const Schedule& schedule, const char* rule, std::int64_t now_ns, void (*wake)()) {
  if (asked_ || with_handler_.load(std::memory_order_acquire)) return false;
  handler_ = handler;
  context_ = context;
  wake_ = wake;
  proposed_step_ = proposed_step;
  schedule_ = schedule;
  std::snprintf(rule_, sizeof rule_, "%s", rule);
  with_handler_.store(true, std::memory_order_release);
  if (!start_detached("accel-agree", 5, &Agreement::run, this)) {
    with_handler_.store(false, std::memory_order_release);
    return false;
  }
  asked_ = true;
  until_ns_ = now_ns + std::int64_t{kTimeLimitMs} * 1'000'000;
  return true;
}

void Agreement::run(void* agreement) {
  auto& self = *static_cast<Agreement*>(agreement);
  void (*const wake)() = self.wake_;
  self.step_.store(self.handler_(self.proposed_step_, self.schedule_.active, self.rule_, kTimeLimitMs, self.context_),
                   std::memory_order_relaxed);
  self.with_handler_.store(false, std::memory_order_release);
  wake();
}

Agreement::Answer Agreement::take(std::int64_t now_ns, Schedule& schedule, const char*& rule) {
  if (!asked_) return Answer::none_asked;
  schedule = schedule_;
  rule = rule_;
  if (with_handler_.load(std::memory_order_acquire)) {
    if (now_ns < until_ns_) return Answer::waiting;
    asked_ = false;
    return Answer::timed_out;
  }
  asked_ = false;
  constexpr std::int64_t kLastStep = 0xffffffff;
  const std::int64_t step = step_.load(std::memory_order_relaxed);
  if (step <= 0 || step > kLastStep) return Answer::refused;
  schedule.start_step = static_cast<std::uint32_t>(step);
  return Answer::agreed;
}

}  // namespace accel::runtime
