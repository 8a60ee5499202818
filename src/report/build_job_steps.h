// The critical path of a job, step by step, as it stands in a report. Pure.
#pragma once

#include <cstddef>

#include "fusion/job.h"
#include "report/document.h"

namespace accel::report {

// Returns how many steps were left out; `full`: none.
std::size_t add_job_steps(Document& document, const fusion::Job& job, bool full);

}  // namespace accel::report
