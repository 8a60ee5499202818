// Session: the one recorder of this process. Its state is under 1 KB while it is IDLE; what rules and windows need is
// made when they come (kept for the next time, and bounded). Never destroyed: threads of the host may outlive main.
//
// One source for each who calls: session.cpp (the program), step_path.cpp (the thread that marks steps),
// control_thread.cpp, window.cpp and rule_actions.cpp (the control thread).
//
// step() runs on the training thread and takes no lock. The control thread sleeps in poll and does everything that may
// wait: memory, files, the socket. A mutex orders enable, disable, rules and captures among themselves.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "accel/profiler/runtime_c.h"
#include "runtime/buffer/args_cache.h"
#include "runtime/buffer/frame_recorder.h"
#include "runtime/buffer/names.h"
#include "runtime/session/capture.h"
#include "runtime/session/control_socket.h"
#include "runtime/session/run_record.h"
#include "runtime/session/state.h"
#include "runtime/session/time_watch.h"
#include "runtime/session/window_plan.h"
#include "runtime/trigger/numbers.h"
#include "runtime/trigger/rule.h"

namespace accel::runtime {

class RuleSet;
class SamplerThread;

class Session {
 public:
  constexpr Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  accel_status enable(const accel_options& options);
  accel_status disable();
  accel_state state() const { return static_cast<accel_state>(word().state); }
  accel_status wait(std::uint32_t timeout_ms);

  accel_status step(const accel_step_info& info);
  accel_status rule_add(std::string_view text, accel_rule_error* error);
  accel_status rules_clear();
  accel_status capture(const Schedule& schedule, std::string_view asked_by);
  accel_status capture_stop();
  accel_window window_now() const;
  accel_status capture_path(char* path, std::size_t size);
  accel_status on_action(accel_action_handler handler, void* context);
  accel_status on_agreement(accel_agreement_handler handler, void* context);
  accel_status notify_now(const char* target, const char* message);

  accel_name name_of(std::string_view category, std::string_view name) {
    return word().dead ? NameRegistry::kOther : names_.intern(category, name);
  }
  accel_args args_of(std::string_view shape, std::string_view dtype);
  accel_number number_of(std::string_view name);
  accel_status record(accel_number number, double value);
  accel_status mark(std::string_view text);
  FrameRecorder& recorder() { return recorder_; }

  // Async-signal-safe.
  void signal_arrived();
  // fork()
  void child_of_fork();
  // The process ends: an open window is closed, for at most a second.
  void process_ends();

 private:
  Word word() const { return Word::unpacked(word_.load(std::memory_order_acquire)); }
  // Takes the event if it applies; the duty is the caller's.
  Transition take(Event event);
  void wake();

  void control_loop();
  bool control_once();
  // A rule that fired, copied out of the lock.
  struct FiredRule {
    RuleAction action;
    accel_action_handler handler = nullptr;
    void* context = nullptr;
    accel_agreement_handler agreement = nullptr;
    void* agreement_context = nullptr;
    char text[Rule::kMaxTextBytes + 1] = {};
  };
  struct Extras;
  Extras* extras();
  void carry_out_rules();
  void carry_out(const FiredRule& rule);
  void act_alone(const FiredRule& rule);
  bool dump_threads(const char* reason);
  void ask_ranks(const FiredRule& rule, const Schedule& schedule);
  bool hear_ranks();
  // A note in the open capture, else in the next one, and in the record of the run.
  void say(const char* code, const char* message, const char* remedy);
  void tell_pending(Capture& capture);
  void mark_everywhere(const char* text);
  void prepare();
  void steer_samplers();
  void note_absent_samplers(Capture& capture);
  void watch_window();
  void watch_armed();
  void govern(Capture& capture, std::int64_t now);
  std::int64_t own_cpu_ns() const;
  void watch_time(Capture& capture, std::int64_t now);
  void finish_window(bool recorded);
  void answer(std::string_view request, char* reply, std::size_t size);
  bool start_control();
  accel_status enable_locked(const accel_options& options);
  void read_rule_file(const char* path);
  // Whoever made the transition out of ACTIVE calls this, once.
  void end_window(const char* reason, std::uint64_t now);
  RecordIdentity identity() const { return {output_, rank_, world_size_}; }
  void keep_run_record();
  void window_step(std::uint64_t now, const StepRecord& record);
  void feed_rules(const StepRecord& record);
  accel_status capture_locked(const Schedule& schedule, std::string_view asked_by);
  NumberTable* numbers() const { return numbers_.load(std::memory_order_acquire); }
  bool make_numbers();
  RuleSet* rules() const { return rules_.load(std::memory_order_acquire); }

  std::atomic<std::uint32_t> word_{0};
  std::atomic<bool> stepping_{false};
  std::atomic<std::int64_t> steps_{0};
  std::atomic<bool> opened_{false};          // the window that is being closed was open
  std::atomic<std::uint64_t> last_step_{0};  // ticks of the last step mark
  StepHistory history_;
  WindowPlan plan_;
  Schedule schedule_;
  std::uint32_t repeats_left_ = 0;
  std::atomic<std::uint64_t> keep_from_{0};
  std::uint64_t window_begin_ = 0;
  std::int64_t opened_at_ns_ = 0;  // of the window; written before opened_
  std::uint64_t window_end_ = 0;
  std::atomic<const char*> ended_by_{nullptr};
  std::atomic<Capture*> capture_{nullptr};
  std::atomic<RunRecord*> run_{nullptr};  // while there are rules, or the program asked to watch
  std::int64_t window_opened_ns_ = 0;
  std::int64_t armed_ns_ = 0;  // when the window was ready
  bool no_step_told_ = false;  // of the armed window
  std::int64_t next_flush_ns_ = 0;
  TimeWatch time_watch_;
  int last_error_ = 0;
  std::atomic<std::uint32_t> bad_rules_{0};  // of the rule file; the line of the first

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<int> event_{-1};
  std::atomic<bool> control_runs_{false};
  std::atomic<std::uint32_t> signals_{0};
  std::atomic<std::uint32_t> fired_{0};  // a bit per rule
  bool signal_is_ours_ = false;
  bool fork_handled_ = false;
  std::uint32_t flags_ = 0;
  std::int32_t rank_ = -1;
  std::int32_t world_size_ = -1;
  std::uint32_t max_seconds_ = 0;
  std::uint64_t max_bytes_ = 0;
  std::uint64_t max_run_bytes_ = 0;
  std::uint32_t captures_ = 0;
  char* output_ = nullptr;
  char* newest_path_ = nullptr;
  const char* asked_by_ = "program";  // kept by the names
  std::uint32_t asked_by_bytes_ = 7;
  bool rings_filling_ = false;
  std::uint32_t samplers_slower_ = 1;
  std::uint32_t muted_ = 0;       // names
  std::uint64_t usual_step_ = 0;  // ticks, when the window opened; 0: not steady
  accel_action_handler action_handler_ = nullptr;
  void* action_context_ = nullptr;
  accel_agreement_handler agreement_handler_ = nullptr;
  void* agreement_context_ = nullptr;
  std::uint32_t allowed_ = 0;                      // NotifyAllowed
  Extras* extras_ = nullptr;                       // control thread
  std::atomic<std::uint64_t> usual_step_time_{0};  // ticks: the last step
  ControlSocket socket_;

  FrameRecorder recorder_;
  NameRegistry names_;
  std::atomic<ArgsCache*> args_{nullptr};
  std::atomic<NumberTable*> numbers_{nullptr};
  std::atomic<RuleSet*> rules_{nullptr};
  SamplerThread* samplers_ = nullptr;  // control thread
};
static_assert(sizeof(Session) <= 1024, "IDLE promises under 1 KB of state");

Session& session();

}  // namespace accel::runtime
