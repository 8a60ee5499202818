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

struct Replay {
  double step_ns = 0;         // what sets the pace
  double host_step_ns = 0;    // main thread, per step of the last round
  double device_step_ns = 0;  // last device work, likewise
  // Of every round, when asked for: nodes and events of round r at [r * size, ...).
  std::vector<std::int64_t> node_end_ns;
  std::vector<std::int64_t> event_start_ns;
  std::vector<std::int64_t> event_end_ns;
  std::vector<Cause> node_cause;
  std::vector<Cause> event_cause;
  std::int64_t last_start_ns = 0;  // of the last round, on the main thread
  std::int64_t last_end_ns = 0;
};

inline constexpr int kReplayRounds = 3;

Replay replay(const StepGraph& graph, bool keep_causes = false);

}  // namespace accel
