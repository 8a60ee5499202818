#include "runtime/session/state.h"

namespace accel::runtime {
namespace {

Transition ignored(Word now) { return {now, Duty::nothing, false}; }

Word at(Word now, State state) {
  now.state = state;
  now.ready = false;
  return now;
}

// Where a window leads back to.
Word resting(Word now) {
  if (now.leaving) return {State::off, false, false, false, false};
  return at(now, now.rules ? State::watching : State::idle);
}

Transition while_off(Word now, Event event) {
  if (event != Event::enable) return ignored(now);
  return {{State::idle, false, false, false, false}, Duty::start, true};
}

Transition while_resting(Word now, Event event) {
  switch (event) {
    case Event::rules_on:
      now.rules = true;
      return {at(now, State::watching), Duty::nothing, true};
    case Event::rules_off:
      now.rules = false;
      return {at(now, State::idle), Duty::nothing, true};
    case Event::request:
      return {at(now, State::armed), Duty::prepare, true};
    case Event::disable:
      return {{State::off, false, false, false, false}, Duty::finish, true};
    default:
      return ignored(now);
  }
}

Transition while_armed(Word now, Event event) {
  switch (event) {
    case Event::prepared:
      if (now.ready) return ignored(now);
      now.ready = true;
      return {now, Duty::nothing, true};
    case Event::window_opens:
      if (!now.ready) return ignored(now);
      return {at(now, State::active), Duty::open_window, true};
    case Event::prepare_failed: {
      if (now.ready) return ignored(now);
      return {resting(now), now.leaving ? Duty::finish : Duty::nothing, true};
    }
    // What is being prepared belongs to the control thread: it takes it back while DRAINING.
    case Event::stop:
      return {at(now, State::draining), Duty::discard, true};
    case Event::disable:
      now.leaving = true;
      return {at(now, State::draining), Duty::discard, true};
    default:
      return ignored(now);
  }
}

Transition while_active(Word now, Event event) {
  switch (event) {
    case Event::window_ends:
    case Event::limit:
    case Event::stop:
      return {at(now, State::draining), Duty::close_window, true};
    case Event::disable:
      now.leaving = true;
      return {at(now, State::draining), Duty::close_window, true};
    default:
      return ignored(now);
  }
}

Transition while_draining(Word now, Event event) {
  switch (event) {
    case Event::drained:
      return {resting(now), now.leaving ? Duty::finish : Duty::nothing, true};
    case Event::disable:
      if (now.leaving) return ignored(now);
      now.leaving = true;
      return {now, Duty::nothing, true};
    default:
      return ignored(now);
  }
}

}  // namespace

Transition transition(Word now, Event event) {
  if (now.dead) return ignored(now);
  if (event == Event::fork_child) return {{State::off, false, false, false, true}, Duty::nothing, true};
  const bool windowing = now.state == State::armed || now.state == State::active || now.state == State::draining;
  if (windowing && (event == Event::rules_on || event == Event::rules_off)) {  // counts once the window is over
    if (now.rules == (event == Event::rules_on)) return ignored(now);
    now.rules = event == Event::rules_on;
    return {now, Duty::nothing, true};
  }
  switch (now.state) {
    case State::off:
      return while_off(now, event);
    case State::idle:
    case State::watching:
      return while_resting(now, event);
    case State::armed:
      return while_armed(now, event);
    case State::active:
      return while_active(now, event);
    case State::draining:
      return while_draining(now, event);
  }
  return ignored(now);
}

const char* to_string(State state) {
  constexpr const char* kNames[kStates] = {"OFF", "IDLE", "WATCHING", "ARMED", "ACTIVE", "DRAINING"};
  return kNames[static_cast<int>(state)];
}

const char* to_string(Event event) {
  constexpr const char* kNames[kEvents] = {"enable",   "disable",        "rules_on",     "rules_off",   "request",
                                           "prepared", "prepare_failed", "window_opens", "window_ends", "limit",
                                           "stop",     "drained",        "fork_child"};
  return kNames[static_cast<int>(event)];
}

}  // namespace accel::runtime
