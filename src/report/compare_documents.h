// Two reports side by side: fills the `compare` part of the second one. Pure; any thread.
#pragma once

#include "compare/step_noise.h"
#include "report/document.h"

namespace accel::report {

// AFTER's report with its comparison to BEFORE.
Document compare_documents(const Document& before, Document after);

// The interval of the difference of the mean steps; nothing when the noise is not known.
std::optional<compare::Interval> step_delta_ns(const Document& before, const Document& after);

}  // namespace accel::report
