// The control thread of the session: asleep in poll, woken by the eventfd, the socket or, while something is being
// recorded, by time.
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>

#include "runtime/buffer/clock.h"
#include "runtime/buffer/detached_thread.h"
#include "runtime/sampler/sampler_thread.h"
#include "runtime/session/guard.h"
#include "runtime/session/request.h"
#include "runtime/session/rule_set.h"
#include "runtime/session/session.h"

namespace accel::runtime {

bool Session::start_control() {
  control_runs_.store(true);
  const bool started =
      start_detached("accel-control", 10, [](void* session) { static_cast<Session*>(session)->control_loop(); }, this);
  if (!started) control_runs_.store(false);
  return started;
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
    keep_run_record();
    if (samplers_ != nullptr) samplers_->want(0);
    if (rules() != nullptr) rules()->clear();
    control_runs_.store(false);
    return false;
  }
  constexpr int kActiveMs = 10;
  constexpr int kBusyMs = 1;
  constexpr int kWatchingMs = 1000;
  constexpr int kAskingMs = 50;
  const bool windowing =
      now.state == State::active || now.state == State::draining || (now.state == State::armed && !now.ready);
  pollfd waits[2] = {{event_.load(), POLLIN, 0}, {socket_.descriptor(), POLLIN, 0}};
  const bool looks_around = run_.load(std::memory_order_relaxed) != nullptr || now.state == State::armed;
  const int resting_ms = hear_ranks() ? kAskingMs : looks_around ? kWatchingMs : -1;
  ::poll(waits, 2, windowing ? (rings_filling_ ? kBusyMs : kActiveMs) : resting_ms);
  if ((waits[0].revents & POLLIN) != 0) {
    std::uint64_t count = 0;
    (void)!::read(waits[0].fd, &count, sizeof count);
  }
  if ((waits[1].revents & POLLIN) != 0) {
    socket_.serve([this](std::string_view request, char* reply, std::size_t size) { answer(request, reply, size); });
  }
  if (signals_.exchange(0, std::memory_order_relaxed) != 0) capture(Schedule(), "signal");
  if (fired_.load(std::memory_order_relaxed) != 0) carry_out_rules();
  keep_run_record();
  now = word();
  steer_samplers();
  if (now.state == State::armed) now.ready ? watch_armed() : prepare();
  if (word().state == State::active || word().state == State::draining) watch_window();
  return true;
}

// The record of the run exists while the session watches. It is made, written and closed here and nowhere else.
void Session::keep_run_record() {
  RunRecord* run = run_.load(std::memory_order_relaxed);
  const bool wanted = word().rules && word().state != State::off;
  if (run == nullptr && wanted) {
    run_.store(RunRecord::make(max_run_bytes_), std::memory_order_release);
    return;
  }
  if (run == nullptr) return;
  if (!wanted) {
    run_.store(nullptr);
    while (stepping_.load()) ::sched_yield();  // a step mark may still hold the pointer; see finish_window
  }
  run->drain(identity(), monotonic_ns());
  if (wanted) return;
  run->finish();
  RunRecord::destroy(run);
}

// Samplers run while a rule names one of their numbers, and all of them while a window is armed or open. (Not while it
// is armed in a job whose steps have stopped: that may be for days.)
void Session::steer_samplers() {
  const Word now = word();
  std::uint32_t wanted = 0;
  if (now.rules) {
    const Guard guard(mutex_);
    for (std::uint32_t i = 0; rules() != nullptr && i < rules()->count(); ++i) wanted |= rules()->rule(i).sources();
  }
  constexpr auto bit = [](NumberSource source) { return 1U << static_cast<unsigned>(source); };
  constexpr std::uint32_t kSampled =
      bit(NumberSource::process) | bit(NumberSource::cgroup) | bit(NumberSource::nvml) | bit(NumberSource::network);
  wanted &= kSampled;
  if (now.state == State::active || (now.state == State::armed && !no_step_told_)) wanted = kSampled;
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

void Session::answer(std::string_view line, char* reply, std::size_t size) {
  const Request request = parse_request(line);
  switch (request.kind) {
    case Request::Kind::status: {
      const Guard guard(mutex_);
      std::snprintf(reply, size, "ok state=%s steps=%lld rules=%u bad_rule_line=%u error=%d capture=%s",
                    to_string(word().state), static_cast<long long>(steps_.load()),
                    rules() == nullptr ? 0U : rules()->count(), bad_rules_.load(), last_error_,
                    newest_path_ == nullptr ? "-" : newest_path_);
      return;
    }
    case Request::Kind::rule: {
      accel_rule_error error{};
      const accel_status status = rule_add(request.text, &error);
      if (status == ACCEL_INVALID_ARGUMENT) {
        std::snprintf(reply, size, "error: column %u: %s; %s", error.column, error.message, error.remedy);
      } else {
        std::snprintf(reply, size, status == ACCEL_OK ? "ok" : "error: no room for another rule");
      }
      return;
    }
    case Request::Kind::stop:
      std::snprintf(reply, size, capture_stop() == ACCEL_OK ? "ok" : "error: nothing to stop");
      return;
    case Request::Kind::capture: {
      const accel_status status = capture(request.schedule, "socket");
      std::snprintf(reply, size,
                    status == ACCEL_OK                 ? "ok"
                    : status == ACCEL_BUSY             ? "error: a window is armed, open or being written"
                    : status == ACCEL_INVALID_ARGUMENT ? "error: this session records nothing of devices"
                                                       : "error: the recorder is off");
      return;
    }
    case Request::Kind::bad_setting:
      std::snprintf(reply, size, "error: '%.*s' is no setting of a capture or out of range",
                    static_cast<int>(request.text.size()), request.text.data());
      return;
    case Request::Kind::unknown:
      std::snprintf(reply, size, "error: requests are: %s", kRequestForms);
      return;
  }
}

}  // namespace accel::runtime
