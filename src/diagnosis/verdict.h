// The verdict (what sets the pace of the undisturbed step, in one sentence) and the health line (its shares against
// stated bounds).
#pragma once

#include <span>
#include <vector>

#include "diagnosis/diagnosis.h"
#include "diagnosis/rule.h"
#include "diagnosis/step_view.h"

namespace accel {

Verdict make_verdict(const DiagnosisInput& input, std::span<const Finding> findings, const AnalysisOptions& options);

// Kernel, copy, communication, host and idle shares. Kernel share has a minimum; what is left by it is the maximum of
// the copy and communication shares; idle has a maximum, which the part of it that the host causes shares.
std::vector<HealthMeasure> judge_health(const StepView& view, const AnalysisOptions& options);

}  // namespace accel
