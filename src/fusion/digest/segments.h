// What a rank did before each communication event and in each step, on its device and on its host. Private to the
// digest.
#pragma once

#include "analysis/analysis.h"
#include "fusion/digest/digest.h"
#include "fusion/digest/name_rows.h"
#include "trace/trace_store.h"

namespace accel::fusion {

// Fills segments and the work of the steps; events and steps must be there.
void fill_device_work(const TraceStore& store, const AnalysisResults& results, NameRows& names, RankDigest& digest);
void fill_host_work(const TraceStore& store, const AnalysisResults& results, NameRows& names, RankDigest& digest);

// The device whose collectives are looked at: the one that holds most of them, else the one with most work; -1: none.
std::int64_t primary_device(const TraceStore& store, const RankDigest& digest);

}  // namespace accel::fusion
