// The plan: findings in the order in which to act on them, each with the step to expect once it and all before it are
// done. Prerequisites stand before what needs them.
#pragma once

#include <span>
#include <vector>

#include "diagnosis/diagnosis.h"
#include "diagnosis/step_view.h"

namespace accel {

class Predictor;

// Orders findings by the step time that their action saves; those worth no more than info come last. Gives them ids.
void order_findings(std::vector<Finding>& findings);

// With a predictor, the step after each change is a replay of that change and all before it together, as far as
// findings say what they mean for the step: what two of them would save alone is then not promised twice.
std::vector<PlanStep> make_plan(const StepView& view, std::span<const Finding> findings,
                                const Predictor* predictor = nullptr);

}  // namespace accel
