#include "report/html/views.h"

namespace accel::report {

Views make_views(const TraceStore& store, const AnalysisResults& results) {
  return {results.call_tree, nullptr, pack_timeline(store, results)};
}

}  // namespace accel::report
