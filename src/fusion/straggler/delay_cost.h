// What a late rank costs a step of the job without the recording. docs/design/fusion.md derives it. Private to the
// straggler analysis.
#pragma once

#include <vector>

#include "fusion/rank_set/rank_set.h"
#include "fusion/straggler/rank_profile.h"

namespace accel::fusion {

// How long a step of the job takes if nobody is late: the slower of a host and of a device, as all ranks have them.
struct JobPace {
  double host_ns = 0;    // recorded, of a host that never waits, without its longest stretch outside of every record
  double gap_ns = 0;     // that stretch, where all ranks have one: no recorder makes it longer
  double device_ns = 0;  // with the exposed transfer of the rank that waits least
  // By which the recording slows a host: expected, least and most.
  double slowing = 1;
  double least_slowing = 1;
  double most_slowing = 1;
  bool recording_costs = false;
  // Steps by which its hosts can run ahead of their devices; 0 where they wait for them in every step.
  double lead_steps = 0;

  // Of a host with an excess: its step, less what a lead from `rests` steps without it hides.
  double step_ns(double slowed_by, double more_host_ns = 0, double rests = 0) const;
};

// `steps`: numbers of those that were judged, ascending.
JobPace pace_of(const RankSet& set, const std::vector<RankProfile>& profiles, const std::vector<std::int64_t>& steps);

// A delay as the recording shows it.
struct RecordedDelay {
  double cost_ns = 0;    // per step of the job
  double error_ns = 0;   // of that, from step to step: one sigma of the mean
  double caused_ns = 0;  // host time beyond the peers that its causes explain, in a step in which the rank is late
  double often = 1;      // share of the steps in which it is
};

TimeBand cost_of_late_host(const JobPace& pace, const RecordedDelay& delay);
TimeBand cost_of_late_device(const RecordedDelay& delay);

}  // namespace accel::fusion
