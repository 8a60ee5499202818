#include "report/html/views.h"

namespace accel::report {

Views make_views(const TraceStore&, const AnalysisResults& results) { return {results.call_tree}; }

}  // namespace accel::report
