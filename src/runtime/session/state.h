// The states of a session and every transition between them, as one pure function over one word, so that a transition
// is one compare-and-swap and all orders of events can be explored by a test. docs/design/runtime-states.md has the
// picture.
#pragma once

#include <cstdint>

namespace accel::runtime {

enum class State : std::uint8_t { off, idle, watching, armed, active, draining };
inline constexpr int kStates = 6;

enum class Event : std::uint8_t {
  enable,          // accel_enable
  disable,         // accel_disable, or the process ends
  rules_on,        // the first rule
  rules_off,       // the last rule went
  request,         // a window is asked for: signal, socket, rule or call
  prepared,        // memory and file of the window are there
  prepare_failed,  // they could not be had
  window_opens,    // at a step mark, after wait steps
  window_ends,     // at a step mark, after its steps
  limit,           // seconds, bytes or a hang
  stop,            // accel_capture_stop
  drained,         // all is written
  fork_child,      // this process is the child of a fork
};
inline constexpr int kEvents = 13;

// What the one who made the transition has to do; at most one thing.
enum class Duty : std::uint8_t {
  nothing,
  start,         // the control thread
  prepare,       // control thread: memory, file
  open_window,   // the flag goes up
  close_window,  // the flag goes down, the control thread drains
  discard,       // control thread: the prepared window is taken back
  finish,        // control thread: it ends itself
};

// The word: a state and what is to be remembered beside it.
struct Word {
  State state = State::off;
  bool rules = false;    // back to WATCHING, not to IDLE
  bool leaving = false;  // OFF after draining
  bool ready = false;    // ARMED: prepared
  bool dead = false;     // child of a fork: OFF for ever

  constexpr std::uint32_t packed() const {
    return static_cast<std::uint32_t>(state) | (rules ? 0x100U : 0) | (leaving ? 0x200U : 0) | (ready ? 0x400U : 0) |
           (dead ? 0x800U : 0);
  }
  static constexpr Word unpacked(std::uint32_t bits) {
    return {static_cast<State>(bits & 0xff), (bits & 0x100) != 0, (bits & 0x200) != 0, (bits & 0x400) != 0,
            (bits & 0x800) != 0};
  }
  friend constexpr bool operator==(const Word&, const Word&) = default;
};

struct Transition {
  Word next;
  Duty duty = Duty::nothing;
  bool taken = false;  // false: the event does not apply here and nothing changed
};

Transition transition(Word now, Event event);

const char* to_string(State state);
const char* to_string(Event event);

}  // namespace accel::runtime
