// Reduces one rank's trace to its digest. Pure; any thread.
#pragma once

#include "analysis/analysis.h"
#include "fusion/digest/digest.h"
#include "trace/trace_store.h"

namespace accel::fusion {

RankDigest make_digest(const TraceStore& store, const AnalysisResults& results);

}  // namespace accel::fusion
