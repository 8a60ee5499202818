// Which ranks, or whole hosts, came last in enough of the steps to be asked why, and in what pattern. Private to the
// straggler analysis.
#pragma once

#include <cstdint>
#include <vector>

#include "fusion/straggler/straggler.h"

namespace accel::fusion {

struct Candidate {
  Straggler straggler;           // ranks, pattern, steps and lateness; the rest is not judged yet
  std::vector<LateStep*> steps;  // in which it was late
};

// The latest ones, latest first. They point into `late_steps`.
std::vector<Candidate> find_candidates(const RankSet& set, std::vector<LateStep>& late_steps);

// Leaves that one of its steps, as a delay that happened once.
void keep_step(Candidate& candidate, std::int64_t step);

}  // namespace accel::fusion
