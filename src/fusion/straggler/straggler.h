// Who holds the others up: which rank comes late to the collectives, how late, how often, on its host or on its device,
// with what it does that its peers do not, and what that costs the job. docs/design/fusion.md derives each figure.
// Pure.
//
// Lateness is read from local durations, which need no clock: the rank that is waited for has the short collective. The
// aligned clocks are asked the same and must agree. Ranks of one pipeline stage are compared, never those of different
// ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fusion/critical_path/match_index.h"
#include "fusion/straggler/collective_timing.h"

namespace accel::fusion {

enum class LateSide : std::uint8_t { unknown, host, device };
enum class LatePattern : std::uint8_t { persistent, intermittent, one_off, alternating };
std::string_view to_string(LateSide side);
std::string_view to_string(LatePattern pattern);

// One thing that the late rank does more of than its peers do, per step.
struct LateCause {
  enum class Kind : std::uint8_t {
    host_gap,        // one long stretch outside of every record
    host_work,       // an op, range or frame that takes longer or comes more often
    slower_host,     // many of them, as often as on the peers, none of which makes most of it
    more_kernels,    // device work that the peers do not have
    larger_shapes,   // as many launches, of larger inputs
    slower_kernels,  // the same device work, slower
    copies,          // exposed copies
  };
  Kind kind = Kind::host_work;
  IdleCause cause = IdleCause::unknown;  // of host work
  std::string name;                      // of op or kernel; for a gap: what comes after it, may be empty
  std::string shape;
  std::string peers_shape;  // of larger_shapes: what the peers launch instead
  double own_ns = 0;        // per step
  double peers_ns = 0;      // median of the peers, per step
  double own_count = 0, peers_count = 0;

  double excess_ns() const { return own_ns - peers_ns; }
};

// The rank that came last in a step, all its collectives together.
struct LateStep {
  std::int64_t step = 0;
  std::uint32_t rank = 0;             // row of RankSet::ranks
  double lateness_ns = 0;             // how far behind the median of the others it fell in this step
  double cost_ns = 0;                 // by which the others' devices, or hosts, waited longer than its own
  std::uint32_t collective = kNoRow;  // row of CollectiveMatching::collectives: where most of it shows
  std::vector<std::uint32_t> with;    // all ranks of its host, where they were late together; else empty
  bool late = false;                  // by enough to count
  std::optional<double> saved_ns;     // by which the step is shorter without that delay, by replay
};

struct Straggler {
  // One; of a slow host all ranks of it, the one that most often came last first.
  std::vector<std::uint32_t> ranks;
  bool whole_host = false;
  LatePattern pattern = LatePattern::persistent;
  LateSide side = LateSide::unknown;
  std::uint32_t steps_late = 0;
  std::uint32_t steps = 0;
  std::int64_t every = 0;  // late in every n-th step, three times or more; 0: not at even distances
  double lateness_ns = 0;  // mean over the steps in which it was late
  double lateness_low_ns = 0, lateness_high_ns = 0;
  double captured_cost_ns = 0;     // per step of the job as recorded
  double replayed_cost_ns = 0;     // the same by replay of the collectives without its delay
  TimeBand undisturbed_cost;       // per step of the job without the recording
  std::vector<LateCause> causes;   // largest excess first
  std::uint32_t clock_agrees = 0;  // collectives in which the aligned clocks name the same rank
  std::uint32_t clock_disagrees = 0;
  std::uint32_t clock_unresolved = 0;  // arrivals nearer than three times the clocks' error
};

struct StragglerAnalysis {
  std::vector<LateStep> late_steps;   // one per step that the ranks share, ascending
  std::vector<Straggler> stragglers;  // most costly first; none: nobody holds the job up
  // Late in the recording, at no cost without it: what the recording costs differs between ranks, or the delay is the
  // rank's own and its host runs far enough ahead of the device.
  std::vector<Straggler> of_recording;
  // Mean lateness per step that is nobody's: ranks come last by chance, none of them reliably.
  double late_by_chance_ns = 0;
  double measured_step_ns = 0;               // mean step of the job as recorded
  std::optional<TimeBand> undisturbed_step;  // without the recording
  double exposed_ns = 0;                     // communication without compute beside it, mean over ranks, per step
  double exposed_waiting_ns = 0;             // of it: waiting for others
};

StragglerAnalysis find_stragglers(const RankSet& set, const CollectiveMatching& matching,
                                  const std::vector<CollectiveTiming>& timings, const MatchIndex& index);

}  // namespace accel::fusion
