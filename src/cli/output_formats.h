// The writers behind --format, for every command that writes reports. Any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "report/writer.h"

namespace accel::cli {

// Those of `formats`; without any, all that this program can write. An unknown one, or one that this program was built
// without, is an error that names the option.
// Reports of two runs or of a job (`one_trace` false) have none of the writers that show the records of one trace.
Result<std::vector<const report::WriterDescriptor*>> writers_for(const std::vector<std::string>& formats,
                                                                 bool one_trace = true);

}  // namespace accel::cli
