// A trace as ui.perfetto.dev and trace_processor read it: a track for each thread, stream and counter, flows from
// launches to what ran, steps and idle causes as tracks of their own; of a job, a group of tracks for each rank on one
// clock and flows through the collectives that the ranks share. gzip. docs/formats/perfetto.md describes the tracks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "analysis/analysis.h"
#include "report/deflate.h"
#include "trace/trace_store.h"

namespace accel::report {

// What a job adds to the trace of one of its ranks.
struct RankOnAxis {
  std::string name;         // of its group of tracks
  std::string description;  // what a reader has to know of its clock
  std::function<std::int64_t(std::int64_t)> common_ns;
  std::unordered_map<std::uint32_t, std::uint64_t> flow_of_event;  // device event -> number of its collective
  std::unordered_map<std::uint32_t, std::uint64_t> flow_of_slice;  // host slice, likewise
};

class PerfettoTrace {
 public:
  explicit PerfettoTrace(ByteSink sink);
  ~PerfettoTrace();
  PerfettoTrace(const PerfettoTrace&) = delete;
  PerfettoTrace& operator=(const PerfettoTrace&) = delete;

  // `axis` for a rank of a job; a single trace stands as its process. `results` may be empty: no steps, no idle then.
  void add(const TraceStore& store, const AnalysisResults& results, const RankOnAxis* axis = nullptr);
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string perfetto_trace(const TraceStore& store, const AnalysisResults& results);

}  // namespace accel::report
