// The windows of the session, on the control thread: prepared, watched while they are open, closed and written.
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/buffer/clock.h"
#include "runtime/python/python_sampler.h"
#include "runtime/sampler/sampler_thread.h"
#include "runtime/session/guard.h"
#include "runtime/session/mapped.h"
#include "runtime/session/session.h"
#include "runtime/session/shared_memory.h"

namespace accel::runtime {

void Session::prepare() {
  CaptureIdentity identity;
  {
    const Guard guard(mutex_);
    identity.process = this->identity();
    identity.number = ++captures_;
    identity.level = schedule_.level;
    const bool by_session = schedule_.device == ACCEL_DEVICE_BY_SESSION;
    identity.device =
        (flags_ & (ACCEL_DEVICE_ACTIVITY | ACCEL_DEVICE_CALLS)) != 0 && schedule_.device != ACCEL_DEVICE_NONE;
    identity.device_calls = by_session ? (flags_ & ACCEL_DEVICE_CALLS) != 0 : schedule_.device == ACCEL_DEVICE_RICH;
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
  samplers_slower_ = 1;
  muted_ = 0;
  tell_pending(*made);
  SharedMemoryAdvice advice;
  if (check_shared_memory("/dev/shm", kEnoughSharedMemory, advice))
    made->note("shared_memory", 0, 1, advice.message, advice.remedy);
  armed_ns_ = monotonic_ns();
  no_step_told_ = false;
  capture_.store(made, std::memory_order_release);
  if (!take(Event::prepared).taken && word().state == State::draining) finish_window(false);
}

// A window opens at a step mark. Where none comes, the job may hang: what its threads do is written once, and the
// window stays armed, because a long evaluation looks the same from here.
void Session::watch_armed() {
  const std::int64_t limit_ns = std::int64_t{max_seconds_} * 1'000'000'000;
  if (no_step_told_ || monotonic_ns() - armed_ns_ < limit_ns) return;
  if (ticks() - last_step_.load() < ticks_per_second() * max_seconds_ / 2) return;
  no_step_told_ = true;
  if (dump_threads("no step ended:"))
    say("no_step", "a window was armed and no step ended: what the threads did is in a file beside the captures",
        "look at the calls of the threads; the window opens at the next step");
}

void Session::watch_time(Capture& capture, std::int64_t now) {
  if (window_opened_ns_ == 0) {
    window_opened_ns_ = opened_at_ns_;
    time_watch_.begin(opened_at_ns_, realtime_ns() - (now - opened_at_ns_));
  }
  const TimeWatch::Seen seen = time_watch_.look(now, realtime_ns());
  char text[160];
  if (seen.stood_still_ns != 0) {
    std::snprintf(text, sizeof text,
                  "the recorder did not run for %.1f s: the process was stopped, or the machine had no time for it",
                  static_cast<double>(seen.stood_still_ns) * 1e-9);
    capture.note("suspended", 0, 1, text, "leave the steps out in which it stood still");
  }
  if (seen.set_by_ns == 0) return;
  std::snprintf(text, sizeof text, "the system's clock was set by %+.3f s", static_cast<double>(seen.set_by_ns) * 1e-9);
  capture.note("clock_set", 0, 1, text, "nothing to do: durations do not depend on it");
}

std::int64_t Session::own_cpu_ns() const {
  return CostMeter::thread_cpu_ns() + (samplers_ == nullptr ? 0 : samplers_->cost_ns()) +
         python::python_sampler().cost_ns();
}

// Keeps what the level promises: fewer samples, then without the scopes of the name that has the most, then no more.
void Session::govern(Capture& capture, std::int64_t now) {
  constexpr std::uint32_t kSlowest = 8;
  constexpr std::uint32_t kMostMuted = 8;
  const CostMeter::Advice advice = capture.cost().look(now, own_cpu_ns(), recorder_.busiest_records());
  if (advice == CostMeter::Advice::go_on) {
    (void)capture.busiest_name();
    return;
  }
  if (advice == CostMeter::Advice::fewer_samples && samplers_ != nullptr && samplers_slower_ < kSlowest) {
    samplers_slower_ *= 2;
    samplers_->slow_down(samplers_slower_);
    capture.note("thinned", 1, 1,
                 "counters were sampled half as often from here on: the recorder cost more than its level allows",
                 "ask for fewer counters, or for a higher level");
    return;
  }
  const std::uint32_t name = capture.busiest_name();
  if (advice == CostMeter::Advice::fewer_records && name != 0 && muted_ < kMostMuted && recorder_.mute(name)) {
    ++muted_;
    char text[300];
    const std::string_view scope = names_.entry(name).text();
    std::snprintf(text, sizeof text,
                  "scopes named '%.*s' were not recorded from here on: the recorder cost more than its level allows",
                  static_cast<int>(scope.size() < 120 ? scope.size() : 120), scope.data());
    capture.note("thinned", 1, 1, text, "record fewer scopes, or ask for a higher level");
    return;
  }
  capture.note("thinned", 1, 1, "the window was closed early: the recorder cost more than its level allows",
               "record fewer scopes, or ask for a higher level");
  if (take(Event::limit).taken) end_window("cost", ticks());
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
  if (closing) {
    finish_window(opened_.load(std::memory_order_acquire));
    return;
  }
  const std::int64_t now = monotonic_ns();
  const bool first_look = window_opened_ns_ == 0;
  watch_time(*capture, now);
  if (first_look) {
    next_flush_ns_ = now + kSecond;
    if (samplers_ != nullptr) samplers_->slow_down(1);
    (void)recorder_.busiest_records();
    capture->cost().begin(schedule_.level, CostMeter::measure_record_ns(), CostMeter::usable_cores(), usual_step_, now,
                          own_cpu_ns());
  }
  if (capture->cost().due(now)) govern(*capture, now);
  if (word().state != State::active) return;
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
      watch_time(*capture, monotonic_ns());  // a program that stood still and then ended at once
      note_absent_samplers(*capture);
      if (capture->cost().begun())
        (void)capture->cost().look(monotonic_ns(), own_cpu_ns(), recorder_.busiest_records());
      RunRecord* run = run_.load(std::memory_order_relaxed);
      if (run != nullptr) run->drain(this->identity(), monotonic_ns());
      capture->finish(window_begin_, window_end_, plan_, schedule_.warmup, reason != nullptr ? reason : "program",
                      run == nullptr ? nullptr : &run->curve());
      if (run != nullptr) {
        char text[1100];
        std::snprintf(text, sizeof text, "capture %s", capture->path());
        run->mark(this->identity(), text);
      }
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
  if (schedule_.start_step > 0) schedule_.start_step += schedule_.wait + schedule_.warmup + schedule_.active;
  if (repeats_left_ > 0 && recorded && word().state != State::off && take(Event::request).taken) wake();
}

}  // namespace accel::runtime
