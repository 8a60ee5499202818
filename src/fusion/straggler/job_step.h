// How long a step of the job takes as recorded and without the recording, and how much of it is exposed communication.
// Private to the straggler analysis.
#pragma once

#include <vector>

#include "fusion/straggler/delay_cost.h"
#include "fusion/straggler/straggler.h"

namespace accel::fusion {

// Fills measured step and exposed communication. `steps`: numbers of those that were judged, ascending.
void measure_step(const RankSet& set, const std::vector<RankProfile>& profiles, const std::vector<std::int64_t>& steps,
                  StragglerAnalysis& out);

// Fills the undisturbed step; after the stragglers, whose cost it must agree with.
void estimate_step(const RankSet& set, const std::vector<RankProfile>& profiles, const JobPace& pace,
                   StragglerAnalysis& out);

}  // namespace accel::fusion
