// The single records of a trace for the page's track view: host slices, device events, idle stretches with their
// causes, memory and counters, as columns of numbers. docs/formats/report.md describes them.
#pragma once

#include <cstddef>
#include <string>

#include "analysis/analysis.h"
#include "trace/trace_store.h"

namespace accel::report {

struct PackedTimeline {
  std::string about;    // JSON: tracks, counters, where each column stands, what was left out
  std::string columns;  // base64 of raw deflate
};

// Records above this number are left out, host slices first and of these the shortest: the page stays below 25 MB.
inline constexpr std::size_t kTimelineRecords = 2'400'000;
inline constexpr std::size_t kTimelineSamples = 400'000;

PackedTimeline pack_timeline(const TraceStore& store, const AnalysisResults& results,
                             std::size_t most_records = kTimelineRecords);

}  // namespace accel::report
