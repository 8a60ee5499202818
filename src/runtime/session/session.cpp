#include "runtime/session/session.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime/buffer/clock.h"
#include "runtime/sampler/sampler_thread.h"
#include "runtime/session/rule_set.h"
#include "runtime/trigger/rule_file.h"

// The exported flag of the C header.
extern "C" {
ACCEL_RUNTIME_API uint32_t accel_runtime_active = 0;
}

namespace accel::runtime {
namespace {

constinit Session g_session;

class Guard {
 public:
  explicit Guard(pthread_mutex_t& mutex) : mutex_(mutex) { ::pthread_mutex_lock(&mutex_); }
  ~Guard() { ::pthread_mutex_unlock(&mutex_); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

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

template <typename T>
T* make_mapped() {
  void* memory = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) T();
}

void set_flag(std::uint32_t value) { __atomic_store_n(&accel_runtime_active, value, __ATOMIC_RELEASE); }

extern "C" void accel_runtime_on_signal(int) {
  const int saved = errno;
  session().signal_arrived();
  errno = saved;
}

extern "C" void accel_runtime_in_child() { session().child_of_fork(); }

// Ours only when the disposition is the default at this moment: a handler of anybody is never replaced.
bool take_signal() {
  struct sigaction ours{};
  struct sigaction before{};
  if (::sigaction(SIGUSR1, nullptr, &before) != 0 || (before.sa_flags & SA_SIGINFO) != 0 ||
      before.sa_handler != SIG_DFL)
    return false;
  ours.sa_handler = accel_runtime_on_signal;
  ours.sa_flags = SA_RESTART | SA_ONSTACK;
  ::sigemptyset(&ours.sa_mask);
  if (::sigaction(SIGUSR1, &ours, &before) != 0) return false;
  if ((before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler == SIG_DFL) return true;
  ::sigaction(SIGUSR1, &before, nullptr);  // somebody was faster
  return false;
}

void give_signal_back() {
  struct sigaction now{};
  if (::sigaction(SIGUSR1, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
      now.sa_handler == accel_runtime_on_signal)
    ::signal(SIGUSR1, SIG_DFL);
}

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
  constexpr const char* kRanks[] = {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", nullptr};
  constexpr const char* kSizes[] = {"WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", nullptr};
  rank_ = options.rank >= 0 ? options.rank : from_environment(kRanks);
  world_size_ = options.world_size >= 0 ? options.world_size : from_environment(kSizes);
  flags_ = options.flags;
  max_seconds_ = options.max_capture_seconds != 0 ? options.max_capture_seconds : 60;
  max_bytes_ = options.max_capture_bytes != 0 ? options.max_capture_bytes : std::uint64_t{1} << 30;
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
  if ((flags_ & ACCEL_NO_SOCKET) == 0 && socket_.open() == EBUSY) return ACCEL_BUSY;
  const Transition move = take(Event::enable);
  if (!move.taken) return ACCEL_DISABLED;
  if (!start_control()) {
    take(Event::disable);
    socket_.close();
    return ACCEL_NO_RESOURCES;
  }
  const bool slurm = std::getenv("SLURM_JOB_ID") != nullptr;
  signal_is_ours_ = (flags_ & ACCEL_NO_SIGNAL) == 0 && (!slurm || (flags_ & ACCEL_FORCE_SIGNAL) != 0) && take_signal();
  return ACCEL_OK;
}

// All signals are blocked in the control thread: the host's handlers run on the host's threads, and a write past the
// file-size limit is an error and no SIGXFSZ.
bool Session::start_control() {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return false;
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  control_runs_.store(true);
  const bool started = ::pthread_create(&thread, &attributes, &Session::control_thread, this) == 0;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  if (!started) control_runs_.store(false);
  return started;
}

accel_status Session::disable() {
  if (word().dead) return ACCEL_DISABLED;
  const Guard guard(mutex_);
  repeats_left_ = 0;
  const Transition move = take(Event::disable);
  if (!move.taken) return ACCEL_DISABLED;
  if (signal_is_ours_) give_signal_back();
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

// ---- the training thread ----

accel_status Session::step(const accel_step_info& info) {
  const Word now = word();
  if (now.state == State::off) return ACCEL_DISABLED;
  // Held by rule_add and rules_clear for some microseconds; longer means that two threads mark steps.
  constexpr int kPatience = 1000;
  for (int tries = 0; stepping_.exchange(true); ++tries) {
    if (tries == kPatience) return ACCEL_BUSY;
    ::sched_yield();
  }
  const std::uint64_t mark = ticks();
  const std::uint64_t before = last_step_.load(std::memory_order_relaxed);
  const std::int64_t index = steps_.fetch_add(1, std::memory_order_relaxed);
  last_step_.store(mark, std::memory_order_relaxed);
  if (before != 0) {
    history_.add(mark - before);
    if (now.state != State::idle) {
      StepRecord record{
          index, before, mark, info.loss, info.samples, info.loader_wait_ns, info.epoch, 0, WindowPlan::Phase::outside};
      window_step(mark, record);
      if (now.rules) feed_rules(record);
    }
  }
  stepping_.store(false, std::memory_order_release);
  return ACCEL_OK;
}

void Session::window_step(std::uint64_t now, const StepRecord& record) {
  const Word at = word();
  if (at.state == State::armed && at.ready) {
    if (plan_.armed_step(history_) != WindowPlan::Move::open) return;
    const bool warm = plan_.phase() == WindowPlan::Phase::warmup;
    keep_from_.store(warm ? ~std::uint64_t{0} : now, std::memory_order_release);
    window_begin_ = now;
    opened_.store(true, std::memory_order_release);
    if (take(Event::window_opens).taken) {
      set_flag(1);
      wake();
    } else {
      opened_.store(false, std::memory_order_release);
    }
    return;
  }
  if (at.state != State::active) return;
  StepRecord inside = record;
  inside.phase = plan_.phase();
  inside.tid = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  Capture* capture = capture_.load();
  if (capture != nullptr) capture->steps().push(inside);
  switch (plan_.window_step()) {
    case WindowPlan::Move::keep_from_here:
      window_begin_ = now;
      keep_from_.store(now, std::memory_order_release);
      break;
    case WindowPlan::Move::close:
      if (take(Event::window_ends).taken) end_window("steps", now);
      break;
    default:
      break;
  }
}

// Whoever made the transition out of ACTIVE calls this, once.
void Session::end_window(const char* reason, std::uint64_t now) {
  set_flag(0);
  window_end_ = now;
  ended_by_.store(reason, std::memory_order_release);
  wake();
}

void Session::feed_rules(const StepRecord& record) {
  RuleSet* set = rules();
  if (set == nullptr) return;
  const double step_ms = static_cast<double>(record.end - record.begin) * 1e3 / ticks_per_second();
  const std::uint32_t fired = set->step(record, step_ms, monotonic_ns());
  if (fired == 0) return;
  fired_.fetch_or(fired, std::memory_order_acq_rel);
  wake();
}

accel_args Session::args_of(std::string_view shape, std::string_view dtype) {
  ArgsCache* cache = args_.load(std::memory_order_acquire);
  return cache == nullptr || __atomic_load_n(&accel_runtime_active, __ATOMIC_RELAXED) == 0
             ? 0
             : cache->intern(shape, dtype);
}

bool Session::make_numbers() {
  if (numbers() != nullptr) return true;
  auto* made = make_mapped<NumberTable>();
  if (made == nullptr) return false;
  std::size_t count = 0;
  const SamplerDescriptor* const* all = samplers(count);
  for (std::size_t i = 0; i < count; ++i) {  // so that a rule that names one of them starts its sampler
    for (std::size_t f = 0; f < all[i]->field_count; ++f) made->slot(all[i]->fields[f].name, all[i]->source);
  }
  NumberTable* none = nullptr;
  if (!numbers_.compare_exchange_strong(none, made, std::memory_order_acq_rel)) ::munmap(made, sizeof(NumberTable));
  return true;
}

accel_number Session::number_of(std::string_view name) {
  if (word().dead || !make_numbers()) return ACCEL_NO_NUMBER;
  const std::uint16_t slot = numbers()->slot(name);
  return slot == NumberTable::kNoSlot ? ACCEL_NO_NUMBER : slot;
}

accel_status Session::record(accel_number number, double value) {
  const Word now = word();
  if (now.state == State::off) return ACCEL_DISABLED;
  NumberTable* table = numbers();
  if (table == nullptr || number >= table->size()) return ACCEL_INVALID_ARGUMENT;
  if (now.rules) table->set(static_cast<std::uint16_t>(number), value);
  if (__atomic_load_n(&accel_runtime_active, __ATOMIC_RELAXED) != 0) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    recorder_.instant(kNumberRecord | number, bits);
  }
  return ACCEL_OK;
}

accel_status Session::mark(std::string_view text) {
  if (word().state == State::off) return ACCEL_DISABLED;
  if (__atomic_load_n(&accel_runtime_active, __ATOMIC_RELAXED) != 0)
    recorder_.instant(kMarkRecord | names_.intern("mark", text.substr(0, 255)), 0);
  return ACCEL_OK;
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
  take(Event::rules_off);
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

// ---- the control thread ----

void* Session::control_thread(void* pointer) {
  ::prctl(PR_SET_NAME, "accel-control");
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), 10);
  static_cast<Session*>(pointer)->control_loop();
  return nullptr;
}

void Session::control_loop() {
  while (control_once()) {
  }
}

bool Session::control_once() {
  Word now = word();
  if (now.state == State::off) {
    const Guard guard(mutex_);
    if (word().state != State::off) return true;
    socket_.close();
    if (samplers_ != nullptr) samplers_->want(0);
    if (rules() != nullptr) rules()->clear();
    control_runs_.store(false);
    return false;
  }
  constexpr int kActiveMs = 10;
  constexpr int kBusyMs = 1;
  const bool windowing =
      now.state == State::active || now.state == State::draining || (now.state == State::armed && !now.ready);
  pollfd waits[2] = {{event_.load(), POLLIN, 0}, {socket_.descriptor(), POLLIN, 0}};
  ::poll(waits, 2, windowing ? (rings_filling_ ? kBusyMs : kActiveMs) : -1);
  if ((waits[0].revents & POLLIN) != 0) {
    std::uint64_t count = 0;
    (void)!::read(waits[0].fd, &count, sizeof count);
  }
  if ((waits[1].revents & POLLIN) != 0) {
    socket_.serve([this](std::string_view request, char* reply, std::size_t size) { answer(request, reply, size); });
  }
  if (signals_.exchange(0, std::memory_order_relaxed) != 0) capture(Schedule(), "signal");
  if (fired_.load(std::memory_order_relaxed) != 0) carry_out_rules();
  now = word();
  steer_samplers();
  if (now.state == State::armed && !now.ready) prepare();
  if (word().state == State::active || word().state == State::draining) watch_window();
  return true;
}

// Samplers run while a rule names one of their numbers, and all of them while a window is armed or open.
void Session::steer_samplers() {
  const Word now = word();
  std::uint32_t wanted = 0;
  if (now.rules) {
    const Guard guard(mutex_);
    for (std::uint32_t i = 0; rules() != nullptr && i < rules()->count(); ++i) wanted |= rules()->rule(i).sources();
  }
  constexpr auto bit = [](NumberSource source) { return 1U << static_cast<unsigned>(source); };
  constexpr std::uint32_t kSampled = bit(NumberSource::process) | bit(NumberSource::cgroup) | bit(NumberSource::nvml);
  wanted &= kSampled;
  if (now.state == State::armed || now.state == State::active) wanted = kSampled;
  if (samplers_ == nullptr && wanted != 0 && make_numbers()) {
    void* memory = std::malloc(sizeof(SamplerThread));
    if (memory != nullptr) samplers_ = new (memory) SamplerThread(*numbers(), recorder_, accel_runtime_active);
  }
  if (samplers_ != nullptr) samplers_->want(wanted);
}

void Session::note_absent_samplers(Capture& capture) {
  for (std::size_t i = 0; samplers_ != nullptr && i < SamplerThread::kMaxSamplers; ++i) {
    const char* why = samplers_->absent(i);
    if (why != nullptr) capture.note("sampler_absent", 0, 1, why, "nothing to do where the figures are not needed");
  }
}

void Session::prepare() {
  CaptureIdentity identity;
  {
    const Guard guard(mutex_);
    identity.folder = output_;
    identity.rank = rank_;
    identity.world_size = world_size_;
    identity.number = ++captures_;
    identity.level = schedule_.level;
    std::snprintf(identity.asked_by, sizeof identity.asked_by, "%.*s", static_cast<int>(asked_by_bytes_), asked_by_);
  }
  if (args_.load() == nullptr) args_.store(make_mapped<ArgsCache>(), std::memory_order_release);
  int error = ENOMEM;
  Capture* made = nullptr;
  if (args_.load() != nullptr && make_numbers() && recorder_.open()) {
    made = Capture::make(identity, {&recorder_, &names_, args_.load(), numbers()}, error);
  }
  if (made == nullptr) {
    last_error_ = error;
    repeats_left_ = 0;
    if (!take(Event::prepare_failed).taken) finish_window(false);
    return;
  }
  last_error_ = 0;
  {
    const Guard guard(mutex_);
    std::free(newest_path_);
    newest_path_ = ::strdup(made->path());
  }
  plan_.begin(schedule_);
  ended_by_.store(nullptr, std::memory_order_relaxed);
  keep_from_.store(~std::uint64_t{0}, std::memory_order_relaxed);
  opened_.store(false, std::memory_order_relaxed);
  window_opened_ns_ = 0;
  next_flush_ns_ = 0;
  capture_.store(made, std::memory_order_release);
  if (!take(Event::prepared).taken && word().state == State::draining) finish_window(false);
}

// While a window is open or being closed: drain, write, and see to its ends.
void Session::watch_window() {
  constexpr std::int64_t kSecond = 1'000'000'000;
  Capture* capture = capture_.load(std::memory_order_acquire);
  if (capture == nullptr) {
    if (word().state == State::draining) finish_window(false);
    return;
  }
  const bool closing = word().state == State::draining;
  if (closing && opened_.load(std::memory_order_acquire) && ended_by_.load(std::memory_order_acquire) == nullptr)
    return;  // the one who closes it is about to say why
  rings_filling_ = capture->drain(keep_from_.load(std::memory_order_acquire));
  const std::int64_t now = monotonic_ns();
  if (closing) {
    finish_window(opened_.load(std::memory_order_acquire));
    return;
  }
  if (window_opened_ns_ == 0) {
    window_opened_ns_ = now;
    next_flush_ns_ = now + kSecond;
  }
  if (now >= next_flush_ns_) {
    capture->flush(true);
    next_flush_ns_ = now + kSecond;
  }
  const bool too_long = now - window_opened_ns_ > std::int64_t{max_seconds_} * kSecond;
  const bool too_large = capture->bytes() > max_bytes_;
  if (!too_long && !too_large) return;
  const std::uint64_t mark = ticks();
  // No step for half of the time that the window may take is a hang, not a long window.
  const bool hangs = too_long && (mark - last_step_.load()) > ticks_per_second() * max_seconds_ / 2;
  if (take(Event::limit).taken) end_window(too_large ? "bytes" : hangs ? "hang" : "seconds", mark);
}

void Session::finish_window(bool recorded) {
  Capture* capture = capture_.exchange(nullptr);
  rings_filling_ = false;
  if (capture != nullptr) {
    // The training thread may be inside a step mark that still holds the pointer. (In one order with its exchange of
    // stepping_ and its load of capture_: either it is seen here, or it sees that the pointer is gone.)
    while (stepping_.load()) ::sched_yield();
    if (recorded) {
      capture->drain(keep_from_.load(std::memory_order_acquire));
      const char* reason = ended_by_.load(std::memory_order_acquire);
      note_absent_samplers(*capture);
      capture->finish(window_begin_, window_end_, plan_, schedule_.warmup, reason != nullptr ? reason : "program");
    } else {
      ::unlink(capture->path());
      const Guard guard(mutex_);
      std::free(newest_path_);
      newest_path_ = nullptr;
    }
    Capture::destroy(capture);
    recorder_.close();
  }
  const Guard guard(mutex_);
  window_opened_ns_ = 0;
  take(Event::drained);
  if (repeats_left_ > 0) --repeats_left_;
  if (repeats_left_ > 0 && recorded && word().state != State::off && take(Event::request).taken) wake();
}

void Session::carry_out_rules() {
  for (std::uint32_t fired = fired_.exchange(0, std::memory_order_acq_rel); fired != 0; fired &= fired - 1) {
    RuleAction action;
    accel_action_handler handler = nullptr;
    void* context = nullptr;
    {
      const Guard guard(mutex_);
      const auto at = static_cast<std::uint32_t>(__builtin_ctz(fired));
      if (rules() == nullptr || at >= rules()->count()) continue;
      action = rules()->rule(at).action();
      if (action.kind == ActionKind::capture_next_steps) {
        Schedule schedule;
        schedule.active = action.steps;
        schedule.level = action.level;
        capture_locked(schedule, rules()->rule(at).text());
        continue;
      }
      handler = action_handler_;
      context = action_context_;
    }
    if (action.kind == ActionKind::mark) {
      mark(action.text);
    } else if (handler != nullptr) {  // without the lock: it may ask for a capture
      handler(static_cast<std::uint32_t>(action.kind), action.text, action.scope == RuleScope::global ? 1 : 0, context);
    }
  }
}

// capture [steps=N] [warmup=N] [wait=N] [repeat=N] [level=1|2], stop, status, rule TEXT
void Session::answer(std::string_view request, char* reply, std::size_t size) {
  const auto starts = [&](std::string_view word) { return request.substr(0, word.size()) == word; };
  if (starts("status")) {
    const Guard guard(mutex_);
    std::snprintf(reply, size, "ok state=%s steps=%lld rules=%u bad_rule_line=%u error=%d capture=%s",
                  accel::runtime::to_string(word().state), static_cast<long long>(steps_.load()),
                  rules() == nullptr ? 0U : rules()->count(), bad_rules_.load(), last_error_,
                  newest_path_ == nullptr ? "-" : newest_path_);
    return;
  }
  if (starts("rule ")) {
    accel_rule_error error{};
    request.remove_prefix(5);
    const accel_status status = rule_add(request, &error);
    if (status == ACCEL_OK) {
      std::snprintf(reply, size, "ok");
    } else {
      std::snprintf(reply, size, "error: column %u: %s; %s", error.column, error.message, error.remedy);
    }
    return;
  }
  if (starts("stop")) {
    std::snprintf(reply, size, capture_stop() == ACCEL_OK ? "ok" : "error: nothing to stop");
    return;
  }
  if (!starts("capture")) {
    std::snprintf(
        reply, size,
        "error: requests are: capture [steps=N] [warmup=N] [wait=N] [repeat=N] [level=N], stop, status, rule TEXT");
    return;
  }
  Schedule schedule;
  struct Field {
    const char* name;
    std::uint32_t* value;
    std::uint32_t lowest;
    std::uint32_t highest;
  };
  const Field fields[] = {{"steps", &schedule.active, 1, 10000}, {"warmup", &schedule.warmup, 0, 1000},
                          {"wait", &schedule.wait, 0, 1000000},  {"repeat", &schedule.repeat, 1, 100},
                          {"level", &schedule.level, 1, 2},      {"steady", &schedule.steady_wait, 0, 1000000}};
  request.remove_prefix(7);
  while (!request.empty()) {
    if (request.front() == ' ') {
      request.remove_prefix(1);
      continue;
    }
    const std::string_view word = request.substr(0, request.find(' '));
    request.remove_prefix(word.size());
    bool known = false;
    for (const Field& field : fields) {
      const std::size_t length = std::strlen(field.name);
      if (word.size() <= length + 1 || word.size() > length + 8 || word.substr(0, length) != field.name ||
          word[length] != '=')
        continue;
      std::uint32_t value = 0;
      known = true;
      for (const char c : std::string_view(word.data() + length + 1, word.size() - length - 1)) {
        known &= c >= '0' && c <= '9';
        value = value * 10 + static_cast<std::uint32_t>(c - '0');
      }
      known &= value >= field.lowest && value <= field.highest;
      *field.value = value;
    }
    if (!known) {
      std::snprintf(reply, size, "error: '%.*s' is no setting of a capture or out of range",
                    static_cast<int>(word.size()), word.data());
      return;
    }
  }
  const accel_status status = capture(schedule, "socket");
  std::snprintf(reply, size,
                status == ACCEL_OK     ? "ok"
                : status == ACCEL_BUSY ? "error: a window is armed, open or being written"
                                       : "error: the recorder is off");
}

// ---- the ends of the process ----

void Session::child_of_fork() {
  take(Event::fork_child);
  set_flag(0);
  recorder_.fall_silent();
  socket_.forget();
  Capture* capture = capture_.exchange(nullptr);
  if (capture != nullptr) capture->forget_file();
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
