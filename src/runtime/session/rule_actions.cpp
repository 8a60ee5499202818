// What the session does when a rule has fired, on the control thread: windows (agreed on by all ranks where the rule
// asks for it), marks, stacks, messages. What nobody here can do is said in the files.
#include <cstdio>
#include <cstring>

#include "runtime/buffer/clock.h"
#include "runtime/session/agreement.h"
#include "runtime/session/guard.h"
#include "runtime/session/mapped.h"
#include "runtime/session/notify.h"
#include "runtime/session/pending_notes.h"
#include "runtime/session/rule_set.h"
#include "runtime/session/session.h"
#include "runtime/session/thread_states.h"

namespace accel::runtime {

// Made when the first rule acts or the first note has no file; kept. Control thread.
struct Session::Extras {
  Agreement agreement;
  PendingNotes notes;
  std::uint32_t stack_files = 0;
};

Session::Extras* Session::extras() {
  if (extras_ == nullptr) extras_ = make_mapped<Extras>();
  return extras_;
}

void Session::say(const char* code, const char* message, const char* remedy) {
  Capture* capture = capture_.load(std::memory_order_acquire);
  if (capture != nullptr) {
    capture->note(code, 0, 1, message, remedy);
  } else if (extras() != nullptr) {
    extras()->notes.add(code, message, remedy);
  }
  RunRecord* run = run_.load(std::memory_order_relaxed);
  if (run != nullptr) run->note(identity(), code, message, remedy);
}

void Session::tell_pending(Capture& capture) {
  if (extras_ == nullptr) return;
  extras_->notes.take(
      [&](const char* code, const char* message, const char* remedy) { capture.note(code, 0, 1, message, remedy); });
}

// A mark in the open capture and in the record of the run.
void Session::mark_everywhere(const char* text) {
  mark(text);
  RunRecord* run = run_.load(std::memory_order_relaxed);
  if (run != nullptr) run->mark(identity(), text);
}

void Session::carry_out_rules() {
  for (std::uint32_t fired = fired_.exchange(0, std::memory_order_acq_rel); fired != 0; fired &= fired - 1) {
    FiredRule rule;
    {
      const Guard guard(mutex_);
      const auto at = static_cast<std::uint32_t>(__builtin_ctz(fired));
      if (rules() == nullptr || at >= rules()->count()) continue;
      rule.action = rules()->rule(at).action();
      const std::string_view text = rules()->rule(at).text();
      std::snprintf(rule.text, sizeof rule.text, "%.*s", static_cast<int>(text.size()), text.data());
      rule.handler = action_handler_;
      rule.context = action_context_;
      rule.agreement = agreement_handler_;
      rule.agreement_context = agreement_context_;
    }
    carry_out(rule);
  }
}

void Session::carry_out(const FiredRule& rule) {
  const bool global = rule.action.scope == RuleScope::global;
  if (rule.action.kind == ActionKind::capture_next_steps) {
    Schedule schedule;
    schedule.active = rule.action.steps;
    schedule.level = rule.action.level;
    if (global && world_size_ != 1) {
      ask_ranks(rule, schedule);
    } else {
      capture(schedule, rule.text);
    }
    return;
  }
  if (rule.action.kind == ActionKind::mark) {
    mark_everywhere(rule.action.text);
    return;
  }
  if (rule.handler != nullptr) {  // without the lock: it may ask for a capture
    rule.handler(static_cast<std::uint32_t>(rule.action.kind), rule.action.text, global ? 1 : 0, rule.context);
    return;
  }
  act_alone(rule);
}

// What this library can do of it without a handler.
void Session::act_alone(const FiredRule& rule) {
  if (rule.action.kind == ActionKind::notify) {
    char text[400];
    char message[360];
    std::snprintf(message, sizeof message, "step %lld: %.300s", static_cast<long long>(steps_.load()), rule.text);
    const char* why = notify(identity(), rule.action.text, message, allowed_);
    if (why == nullptr) return;
    std::snprintf(text, sizeof text, "notify(%.100s) was not carried out: %s", rule.action.text, why);
    say("action", text, "give a target that is allowed here");
    return;
  }
  const bool memory = rule.action.kind == ActionKind::capture_memory_stack;
  if (!dump_threads(memory ? "capture_memory_stack()" : "dump_stacks()")) return;
  if (memory) {
    say("action",
        "capture_memory_stack() wrote the memory of the process and the calls of its threads; who holds which memory "
        "is known to a handler alone",
        "use the Python package, or give accel_on_action a handler");
  } else {
    say("action", "dump_stacks() wrote the calls of the threads that wait, their states and open scopes",
        "for threads that run, and for Python, use the Python package, or give accel_on_action a handler");
  }
}

// The file with what the threads do, for `reason`, which is marked everywhere with its path.
bool Session::dump_threads(const char* reason) {
  if (extras() == nullptr) return false;
  char path[1024];
  char text[1100];
  const bool open = word().state == State::active;
  const int error =
      write_thread_states(identity(), ++extras()->stack_files, recorder_, names_, open, path, sizeof path);
  if (error != 0) {
    std::snprintf(text, sizeof text, "%s was not carried out: %s", reason, std::strerror(error));
    say("action", text, "make the output folder writable");
    return false;
  }
  std::snprintf(text, sizeof text, "%s %s", reason, path);
  mark_everywhere(text);
  return true;
}

// All ranks have to record the same steps, so the step lies far enough ahead for every rank to hear of it.
void Session::ask_ranks(const FiredRule& rule, const Schedule& schedule) {
  if (rule.agreement == nullptr || extras() == nullptr) {
    say("no_agreement", "the rule asked for all ranks and there is nobody to ask them: this rank was recorded alone",
        "use the Python package, or give accel_on_agreement a handler; recorded alone, this rank may look late");
    capture(schedule, rule.text);
    return;
  }
  constexpr double kFewestAhead = 10;
  constexpr double kMostAhead = 100000;
  const double step_s = static_cast<double>(usual_step_time_.load(std::memory_order_relaxed)) / ticks_per_second();
  const double in_limit = step_s > 0 ? Agreement::kTimeLimitMs * 2e-3 / step_s : 0;
  const double ahead = in_limit < kFewestAhead ? kFewestAhead : in_limit > kMostAhead ? kMostAhead : in_limit;
  const std::int64_t proposed = steps_.load() + static_cast<std::int64_t>(ahead) + schedule.warmup;
  const bool asked = extras()->agreement.ask(rule.agreement, rule.agreement_context, proposed, schedule, rule.text,
                                             monotonic_ns(), [] { session().wake(); });
  if (!asked)
    say("no_agreement",
        "the rule asked for all ranks while the question before was still unanswered: nothing was recorded",
        "give such rules a longer cool-down");
}

// True while a question is open.
bool Session::hear_ranks() {
  if (extras_ == nullptr || !extras_->agreement.waiting()) return false;
  Schedule schedule;
  const char* rule = "";
  switch (extras_->agreement.take(monotonic_ns(), schedule, rule)) {
    case Agreement::Answer::agreed:
      schedule.steady_wait = 0;
      capture(schedule, rule);
      return false;
    case Agreement::Answer::refused:
      say("no_agreement", "the ranks did not agree on a step: nothing was recorded", "see that all ranks run");
      return false;
    case Agreement::Answer::timed_out:
      say("no_agreement", "the ranks did not agree on a step within the time limit: nothing was recorded",
          "see that all ranks run and the store answers");
      return false;
    default:
      return true;
  }
}

}  // namespace accel::runtime
