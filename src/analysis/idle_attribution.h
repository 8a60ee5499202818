// Idle attribution: every nanosecond in which a device ran nothing inside a step's window gets one cause, from what the
// launching threads did. Causes of a window sum exactly to its idle time.
#pragma once

#include <vector>

#include "analysis/host_state.h"
#include "analysis/idle_cause.h"
#include "base/interval_set.h"
#include "trace/trace_store.h"

namespace accel {

// Idle of one cause put on one host slice (the op, call or frame that took the time); by total, largest first.
struct IdleCulprit {
  IdleCause cause = IdleCause::unknown;
  StringId name;  // of the slice; empty string for "nothing recorded"
  SliceKind kind = SliceKind::other;
  SliceId example;           // the occurrence with most idle
  std::int64_t idle_ns = 0;  // over all windows
  std::uint64_t count = 0;   // distinct occurrences
};

// Idle that one wait explains.
struct WaitIdle {
  SliceId call;
  std::int64_t in_call_ns = 0;  // the device had nothing to do and the host still sat in the call
  std::int64_t after_ns = 0;    // the host came late because it had waited for a busy device
};

// A stretch of idle time with one cause.
struct IdleStretch {
  Interval time;
  IdleCause cause = IdleCause::unknown;
};

struct IdleOfDevice {
  std::int64_t device = 0;
  std::vector<IdleByCause> by_step;  // per window, in the order of StepSegmentation::windows_of(device)
  IdleByCause total{};               // sum of by_step
  // Host records (ops and ranges; calls and frames apart) that start on launching threads during idle, by cause: what
  // the recording's own cost is charged to.
  std::array<std::uint64_t, kIdleCauseCount> records{};
  std::array<std::uint64_t, kIdleCauseCount> calls{};
  std::array<std::uint64_t, kIdleCauseCount> frames{};
  std::vector<IdleCulprit> culprits;
  // The observation behind the causes: what the host was doing, before any refinement. Sums to the same idle.
  std::array<std::int64_t, kHostStateCount> host_states{};
  std::vector<WaitIdle> waits;         // by ascending slice
  std::vector<IdleStretch> stretches;  // in the order of time; together they are `total`
};

struct IdleAttribution {
  std::vector<IdleOfDevice> devices;
};

}  // namespace accel
