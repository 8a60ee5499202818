// Gains that a replay stands behind: for every finding that says what its action means for the step, the undisturbed
// step is replayed with it. Pure.
#pragma once

#include <vector>

#include "analysis/what_if/predictor.h"
#include "diagnosis/rule.h"

namespace accel {

// Replaces step_ms, its band and the basis of findings with remedies; the others keep what their rules said. Where the
// change alone saves less than a warning's share of the step, the finding is info: what it is about is hidden behind
// something else.
void replay_gains(const Predictor& predictor, std::vector<Finding>& findings);

}  // namespace accel
