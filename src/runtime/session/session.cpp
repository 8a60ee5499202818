#include "runtime/session/session.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "runtime/buffer/clock.h"
#include "runtime/cupti/other_tool.h"
#include "runtime/python/python_sampler.h"
#include "runtime/session/guard.h"
#include "runtime/session/host_signal.h"
#include "runtime/session/notify.h"
#include "runtime/session/rule_set.h"
#include "runtime/trigger/rule_file.h"

// The exported flag of the C header.
extern "C" {
ACCEL_RUNTIME_API uint32_t accel_runtime_active = 0;
}

namespace accel::runtime {
namespace {

constinit Session g_session;

std::int32_t from_environment(const char* const* names) {
  for (; *names != nullptr; ++names) {
    const char* text = std::getenv(*names);
    if (text == nullptr || *text == 0) continue;
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    if (*end == 0 && value >= 0 && value < INT_MAX) return static_cast<std::int32_t>(value);
  }
  return -1;
}

extern "C" void accel_runtime_in_child() { session().child_of_fork(); }

}  // namespace

Session& session() { return g_session; }

Transition Session::take(Event event) {
  std::uint32_t bits = word_.load(std::memory_order_acquire);
  for (;;) {
    const Transition move = transition(Word::unpacked(bits), event);
    if (!move.taken) return move;
    if (word_.compare_exchange_weak(bits, move.next.packed(), std::memory_order_acq_rel)) return move;
  }
}

void Session::wake() {
  const int event = event_.load(std::memory_order_acquire);
  const std::uint64_t one = 1;
  if (event >= 0) (void)!::write(event, &one, sizeof one);
}

void Session::signal_arrived() {
  if (word().dead) return;
  signals_.fetch_add(1, std::memory_order_relaxed);
  wake();
}

accel_status Session::enable(const accel_options& options) {
  const char* off = std::getenv("ACCEL_PROFILER_DISABLE");
  if ((off != nullptr && off[0] == '1') || word().dead) return ACCEL_DISABLED;
  const bool was_on = word().state != State::off;
  accel_status status;
  {
    const Guard guard(mutex_);
    status = enable_locked(options);
  }
  const char* rules_path = std::getenv("ACCEL_PROFILER_RULES");
  if (status == ACCEL_OK && !was_on && rules_path != nullptr && rules_path[0] != 0) read_rule_file(rules_path);
  return status;
}

// Rules that do not compile are left out; the socket's status names the first line.
void Session::read_rule_file(const char* path) {
  constexpr std::size_t kMostBytes = 64 << 10;
  bad_rules_.store(0);
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  char* text = fd < 0 ? nullptr : static_cast<char*>(std::malloc(kMostBytes));
  std::size_t used = 0;
  for (ssize_t got = 1; text != nullptr && got > 0 && used < kMostBytes;
       used += got > 0 ? static_cast<std::size_t>(got) : 0) {
    got = ::read(fd, text + used, kMostBytes - used);
  }
  if (fd >= 0) ::close(fd);
  if (text == nullptr) {
    bad_rules_.store(1);
    return;
  }
  RuleFile file(std::string_view(text, used));
  std::string_view rule;
  std::uint32_t line = 0;
  while (file.next(rule, line)) {
    if (rule_add(rule, nullptr) != ACCEL_OK && bad_rules_.load() == 0) bad_rules_.store(line);
  }
  std::free(text);
}

accel_status Session::enable_locked(const accel_options& options) {
  if (word().state != State::off) return word().leaving ? ACCEL_BUSY : ACCEL_OK;
  if (control_runs_.load()) return ACCEL_BUSY;  // the last session is being put away
  choose_clock();
  cupti::look_at_environment();
  constexpr const char* kRanks[] = {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", nullptr};
  constexpr const char* kSizes[] = {"WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", nullptr};
  rank_ = options.rank >= 0 ? options.rank : from_environment(kRanks);
  world_size_ = options.world_size >= 0 ? options.world_size : from_environment(kSizes);
  const char* watch = std::getenv("ACCEL_PROFILER_WATCH");
  flags_ = options.flags | (watch != nullptr && watch[0] == '1' ? std::uint32_t{ACCEL_WATCH} : 0U);
  const char* allow = std::getenv("ACCEL_PROFILER_ALLOW");
  const auto allows = [&](std::uint32_t flag, const char* word) {
    return (flags_ & flag) != 0 || (allow != nullptr && std::strstr(allow, word) != nullptr);
  };
  allowed_ = (allows(ACCEL_ALLOW_COMMANDS, "commands") ? std::uint32_t{kAllowCommands} : 0U) |
             (allows(ACCEL_ALLOW_WEBHOOKS, "webhooks") ? std::uint32_t{kAllowWebhooks} : 0U);
  max_seconds_ = options.max_capture_seconds != 0 ? options.max_capture_seconds : 60;
  max_bytes_ = options.max_capture_bytes != 0 ? options.max_capture_bytes : std::uint64_t{1} << 30;
  max_run_bytes_ = options.max_run_bytes != 0 ? options.max_run_bytes : RunRecord::kDefaultBudget;
  recorder_.set_budget(options.max_ring_bytes != 0 ? options.max_ring_bytes : FrameRecorder::kDefaultBudget);
  const char* chosen = options.output != nullptr ? options.output : std::getenv("ACCEL_PROFILER_OUTPUT");
  std::free(newest_path_);
  newest_path_ = nullptr;
  std::free(output_);
  output_ = ::strdup(chosen != nullptr && chosen[0] != 0 ? chosen : "accel-captures");
  if (output_ == nullptr) return ACCEL_NO_RESOURCES;
  if (event_.load() < 0)
    event_.store(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));  // kept: the signal handler may be using it
  if (event_.load() < 0) return ACCEL_NO_RESOURCES;
  if (!fork_handled_) fork_handled_ = ::pthread_atfork(nullptr, nullptr, accel_runtime_in_child) == 0;
  if (!fork_handled_) return ACCEL_NO_RESOURCES;
  if (socket_.open((flags_ & ACCEL_NO_SOCKET) == 0) == EBUSY) return ACCEL_BUSY;
  const Transition move = take(Event::enable);
  if (!move.taken) return ACCEL_DISABLED;
  if (!start_control()) {
    take(Event::disable);
    socket_.close();
    return ACCEL_NO_RESOURCES;
  }
  if ((flags_ & ACCEL_WATCH) != 0 && take(Event::rules_on).taken) wake();
  const bool slurm = std::getenv("SLURM_JOB_ID") != nullptr;
  signal_is_ours_ =
      (flags_ & ACCEL_NO_SIGNAL) == 0 && (!slurm || (flags_ & ACCEL_FORCE_SIGNAL) != 0) && take_host_signal();
  return ACCEL_OK;
}

accel_status Session::disable() {
  if (word().dead) return ACCEL_DISABLED;
  const Guard guard(mutex_);
  repeats_left_ = 0;
  const Transition move = take(Event::disable);
  if (!move.taken) return ACCEL_DISABLED;
  if (signal_is_ours_) give_host_signal_back();
  signal_is_ours_ = false;
  if (move.duty == Duty::close_window) end_window("program", ticks());
  wake();
  return ACCEL_OK;
}

accel_status Session::wait(std::uint32_t timeout_ms) {
  const std::int64_t until = monotonic_ns() + std::int64_t{timeout_ms} * 1'000'000;
  for (;;) {
    const Word now = word();
    if (now.dead) return ACCEL_DISABLED;
    const bool settled =
        now.state == State::idle || now.state == State::watching || (now.state == State::off && !control_runs_.load());
    if (settled) return ACCEL_OK;
    if (monotonic_ns() >= until) return ACCEL_TIMED_OUT;
    const timespec pause = {0, 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

void Session::end_window(const char* reason, std::uint64_t now) {
  __atomic_store_n(&accel_runtime_active, 0U, __ATOMIC_RELEASE);
  window_end_ = now;
  ended_by_.store(reason, std::memory_order_release);
  wake();
}

// ---- rules and captures ----

accel_status Session::rule_add(std::string_view text, accel_rule_error* error) {
  if (word().dead || word().state == State::off) return ACCEL_DISABLED;
  const Guard guard(mutex_);
  if (!make_numbers()) return ACCEL_NO_RESOURCES;
  if (rules() == nullptr) rules_.store(RuleSet::make(*numbers()), std::memory_order_release);
  if (rules() == nullptr) return ACCEL_NO_RESOURCES;
  RuleError found;
  Rule::Owner rule = Rule::compile(text, *numbers(), found);
  if (rule == nullptr) {
    if (error != nullptr) {
      error->column = found.column;
      std::memcpy(error->message, found.message, sizeof found.message);
      std::memcpy(error->remedy, found.remedy, sizeof found.remedy);
    }
    return ACCEL_INVALID_ARGUMENT;
  }
  while (stepping_.exchange(true, std::memory_order_acquire)) ::sched_yield();
  const bool added = rules()->add(static_cast<Rule::Owner&&>(rule));
  stepping_.store(false, std::memory_order_release);
  if (!added) return ACCEL_NO_RESOURCES;
  take(Event::rules_on);
  wake();  // the rule may need a sampler
  return ACCEL_OK;
}

accel_status Session::rules_clear() {
  if (word().dead || word().state == State::off) return ACCEL_DISABLED;
  const Guard guard(mutex_);
  if ((flags_ & ACCEL_WATCH) == 0) take(Event::rules_off);
  if (rules() == nullptr) return ACCEL_OK;
  while (stepping_.exchange(true, std::memory_order_acquire)) ::sched_yield();
  rules()->clear();
  fired_.store(0);
  stepping_.store(false, std::memory_order_release);
  wake();
  return ACCEL_OK;
}

accel_status Session::capture(const Schedule& schedule, std::string_view asked_by) {
  if (word().dead) return ACCEL_DISABLED;
  const Guard guard(mutex_);
  return capture_locked(schedule, asked_by);
}

accel_status Session::capture_locked(const Schedule& schedule, std::string_view asked_by) {
  const Word now = word();
  if (now.state == State::off) return ACCEL_DISABLED;
  if (schedule.level > 2 && (flags_ & ACCEL_EXPERT) == 0) return ACCEL_INVALID_ARGUMENT;
  if (schedule.device >= ACCEL_DEVICE_LIGHT && (flags_ & (ACCEL_DEVICE_ACTIVITY | ACCEL_DEVICE_CALLS)) == 0)
    return ACCEL_INVALID_ARGUMENT;
  if (now.state != State::idle && now.state != State::watching) return ACCEL_BUSY;
  schedule_ = schedule;
  repeats_left_ = schedule.repeat;
  const std::uint32_t id = names_.intern("asked_by", asked_by);
  asked_by_ = names_.entry(id).bytes + names_.entry(id).category().size();
  asked_by_bytes_ = static_cast<std::uint32_t>(names_.entry(id).text().size());
  if (!take(Event::request).taken) return ACCEL_BUSY;
  wake();
  return ACCEL_OK;
}

accel_status Session::capture_stop() {
  if (word().dead) return ACCEL_DISABLED;
  const Guard guard(mutex_);
  repeats_left_ = 0;
  const Transition move = take(Event::stop);
  if (!move.taken) return word().state == State::off ? ACCEL_DISABLED : ACCEL_OK;
  if (move.duty == Duty::close_window) end_window("program", ticks());
  wake();
  return ACCEL_OK;
}

accel_window Session::window_now() const {
  if (word().state != State::active) return {0, 0};
  return {static_cast<std::uint32_t>(plan_.phase()), schedule_.level};
}

accel_status Session::capture_path(char* path, std::size_t size) {
  if (word().dead || path == nullptr) return ACCEL_INVALID_ARGUMENT;
  const Guard guard(mutex_);
  if (newest_path_ == nullptr || std::strlen(newest_path_) >= size) return ACCEL_INVALID_ARGUMENT;
  std::memcpy(path, newest_path_, std::strlen(newest_path_) + 1);
  return ACCEL_OK;
}

accel_status Session::on_action(accel_action_handler handler, void* context) {
  if (word().dead) return ACCEL_DISABLED;
  const Guard guard(mutex_);
  action_handler_ = handler;
  action_context_ = context;
  return ACCEL_OK;
}

accel_status Session::on_agreement(accel_agreement_handler handler, void* context) {
  if (word().dead) return ACCEL_DISABLED;
  const Guard guard(mutex_);
  agreement_handler_ = handler;
  agreement_context_ = context;
  return ACCEL_OK;
}

accel_status Session::notify_now(const char* target, const char* message) {
  if (word().dead || word().state == State::off) return ACCEL_DISABLED;
  char folder[1024];
  {
    const Guard guard(mutex_);
    if (output_ == nullptr || std::strlen(output_) >= sizeof folder) return ACCEL_NO_RESOURCES;
    std::memcpy(folder, output_, std::strlen(output_) + 1);
  }
  return notify({folder, rank_, world_size_}, target, message, allowed_) == nullptr ? ACCEL_OK : ACCEL_INVALID_ARGUMENT;
}

// ---- the ends of the process ----

void Session::child_of_fork() {
  take(Event::fork_child);
  __atomic_store_n(&accel_runtime_active, 0U, __ATOMIC_RELEASE);
  recorder_.fall_silent();
  python::python_sampler().use({});
  socket_.forget();
  Capture* capture = capture_.exchange(nullptr);
  if (capture != nullptr) capture->forget_file();
  RunRecord* run = run_.exchange(nullptr);
  if (run != nullptr) run->forget_file();
  const int event = event_.exchange(-1);
  if (event >= 0) ::close(event);
}

void Session::process_ends() {
  constexpr std::uint32_t kPatienceMs = 1000;
  if (word().dead || word().state == State::off || !control_runs_.load()) return;
  const bool windowing =
      word().state == State::active || word().state == State::draining || word().state == State::armed;
  disable();
  if (windowing || control_runs_.load()) wait(kPatienceMs);
}

}  // namespace accel::runtime
