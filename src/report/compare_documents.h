// Two reports side by side: fills the `compare` part of the second one. Pure; any thread.
#pragma once

#include "analysis/call_tree/call_tree.h"
#include "compare/step_noise.h"
#include "report/document.h"

namespace accel::report {

// AFTER's report with its comparison to BEFORE. The call trees are those of traces; null for what is a report.
Document compare_documents(const Document& before, Document after, const CallTree* before_tree = nullptr,
                           const CallTree* after_tree = nullptr);

// The interval of the difference of the mean steps; nothing when the noise is not known.
std::optional<compare::Interval> step_delta_ns(const Document& before, const Document& after);

}  // namespace accel::report
