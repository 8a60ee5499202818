// What the page shows beyond the Document: the call tree and single records. Made from the store
// once, constant from then on, and independent of the store's lifetime.
#pragma once

#include <memory>

#include "analysis/analysis.h"
#include "report/html/timeline.h"
#include "trace/trace_store.h"

namespace accel::report {

struct Views {
  std::shared_ptr<const CallTree> call_tree;         // null or empty: the page says that there is none
  std::shared_ptr<const CallTree> call_tree_before;  // of a comparison's first run
  PackedTimeline timeline;
};

Views make_views(const TraceStore& store, const AnalysisResults& results);

}  // namespace accel::report
