// The verdict's words for a job whose ops run on the processor: there is no other device to keep busy, and nothing is
// launched to it.
#pragma once

#include <span>
#include <string>

#include "diagnosis/diagnosis.h"
#include "diagnosis/verdict/step_shares.h"

namespace accel {

// Work of ops is the processor's, wherever it goes.
BoundBy bound_of_processor(BoundBy bound_by);

// Without its full stop.
std::string processor_sentence(const DiagnosisInput& input, std::span<const Finding> findings, BoundBy bound_by,
                               const StepShares& shares, double health_kernel_share);

}  // namespace accel
