// Agreement: asks the host's agreement handler, on a thread of its own, on which step all ranks begin, and gives it a
// time limit: a handler that hangs costs an answer and nothing else. One question at a time. Never freed: the asking
// thread may come back late.
#pragma once

#include <atomic>
#include <cstdint>

#include "accel/profiler/runtime_c.h"
#include "runtime/session/window_plan.h"

namespace accel::runtime {

class Agreement {
 public:
  static constexpr std::uint32_t kTimeLimitMs = 2000;
  enum class Answer : std::uint8_t { none_asked, waiting, agreed, refused, timed_out };

  // False: the last question is still with the handler, or no thread is to be had. `wake` is called when it answers.
  bool ask(accel_agreement_handler handler, void* context, std::int64_t proposed_step, const Schedule& schedule,
           const char* rule, std::int64_t now_ns, void (*wake)());
  // The answer once; `schedule` and `rule` are those of the question, the schedule with the step that was agreed on.
  Answer take(std::int64_t now_ns, Schedule& schedule, const char*& rule);
  bool waiting() const { return asked_; }

 private:
  static void run(void* agreement);

  std::atomic<bool> with_handler_{false};
  std::atomic<std::int64_t> step_{0};
  // control thread; the asking thread reads them while with_handler_
  accel_agreement_handler handler_ = nullptr;
  void* context_ = nullptr;
  void (*wake_)() = nullptr;
  std::int64_t proposed_step_ = 0;
  Schedule schedule_;
  bool asked_ = false;
  std::int64_t until_ns_ = 0;
  char rule_[256] = {};
};

}  // namespace accel::runtime
