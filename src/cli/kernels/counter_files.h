// Tables of hardware counters that were named on the command line. One thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "diagnosis/kernel_counters/counter_table.h"

namespace accel::cli {

// All files in one; a kernel that several files hold has the metrics of all; the first value counts.
Result<std::vector<KernelCounters>> read_counter_files(const std::vector<std::string>& paths);

}  // namespace accel::cli
