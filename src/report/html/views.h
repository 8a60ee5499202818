// What writers show beyond the Document: the call tree and single records. Made from the store
// once, constant from then on, and independent of the store's lifetime.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "analysis/analysis.h"
#include "report/html/timeline.h"
#include "report/writer.h"
#include "trace/trace_store.h"

namespace accel::report {

struct Views {
  std::shared_ptr<const CallTree> call_tree;         // null or empty: the page says that there is none
  std::shared_ptr<const CallTree> call_tree_before;  // of a comparison's first run
  PackedTimeline timeline;
  std::string perfetto;  // the whole file
};

Views make_views(const TraceStore& store, const AnalysisResults& results);
// Only what these writers need.
Views make_views(const TraceStore& store, const AnalysisResults& results,
                 std::span<const WriterDescriptor* const> writers);

}  // namespace accel::report
