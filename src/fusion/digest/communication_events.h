// The communication operations of one rank: kernels of a communication library with what their launch says about them,
// and host threads that communicate themselves (gloo, mpi). Private to the digest.
#pragma once

#include "analysis/analysis.h"
#include "fusion/digest/digest.h"
#include "fusion/digest/name_rows.h"
#include "trace/trace_store.h"

namespace accel::fusion {

// Fills events and groups; steps must be there. Events whose launch lies before the recording cannot be told apart and
// are left out: their number is returned.
std::uint64_t collect_events(const TraceStore& store, const AnalysisResults& results, NameRows& names,
                             RankDigest& digest);

}  // namespace accel::fusion
