// The topology of a job's hosts and the paths of its process groups, as they stand in a report. Pure.
#pragma once

#include <string>

#include "fusion/job.h"
#include "report/document.h"

namespace accel::report {

// Leaves document.topology empty where none is known.
void add_topology(Document& document, const fusion::Job& job);

}  // namespace accel::report
