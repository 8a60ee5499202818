// A trace as Chrome JSON, in the words of the PyTorch profiler: what any reader of such files takes, and what our own
// importer reads back into the same tables. Flows are left out, as correlation ids say the same.
#pragma once

#include "report/deflate.h"
#include "trace/trace_store.h"

namespace accel::report {

void write_chrome_json(const TraceStore& store, const ByteSink& sink);

}  // namespace accel::report
