// Replay: runs a step graph again, its steps in a circle until the pace is steady, and says how long a step takes and
// what it waited for. A pure function of the graph; linear in its nodes.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/step_graph/step_graph.h"

namespace accel {

// What ended when a node did, so that the node did not end sooner.
struct Cause {
  enum class Kind : std::uint8_t { none, host, device } kind = Kind::none;
  std::uint32_t index = 0;  // of the node or event, in the round of `round`
  std::uint8_t round = 0;
};

// One of the things that a node or event could not be done, or begun, before.
struct Constraint {
  Cause from;
  Cause to;
  std::int64_t spare_ns = 0;  // by how much later `from` could have been
  bool from_start = false;    // the start of an event, not its end
};

// What a replay keeps beside the length of a step.
enum class ReplayDetail : std::uint8_t { none, causes, constraints };

struct Replay {
  double step_ns = 0;         // what sets the pace, once it is steady
  double host_step_ns = 0;    // main thread, per step of the last round
  double device_step_ns = 0;  // last device work, likewise
  // The same of the first round alone, which begins as the recording did: with the device's first start of the round
  // after it.
  double first_host_step_ns = 0;
  double first_device_step_ns = 0;
  // With causes, of every round: nodes and events of round r at [r * size, ...).
  std::vector<std::int64_t> node_end_ns;
  std::vector<std::int64_t> event_start_ns;
  std::vector<std::int64_t> event_end_ns;
  std::vector<Cause> node_cause;
  std::vector<Cause> event_cause;
  std::vector<Constraint> constraints;  // with constraints: of all rounds but the first, in the order of the replay
  std::int64_t last_start_ns = 0;       // of the last round, on the main thread
  std::int64_t last_end_ns = 0;
};

inline constexpr int kReplayRounds = 3;

Replay replay(const StepGraph& graph, ReplayDetail detail = ReplayDetail::none);

}  // namespace accel
