#include "report/html/views.h"

#include "report/perfetto/perfetto.h"

namespace accel::report {

Views make_views(const TraceStore& store, const AnalysisResults& results) {
  return {results.call_tree, nullptr, pack_timeline(store, results), {}};
}

Views make_views(const TraceStore& store, const AnalysisResults& results,
                 std::span<const WriterDescriptor* const> writers) {
  Views views;
  for (const WriterDescriptor* writer : writers) {
    if (writer->id == "html") {
      std::string perfetto = std::move(views.perfetto);
      views = make_views(store, results);
      views.perfetto = std::move(perfetto);
    }
    if (writer->id == "perfetto") views.perfetto = perfetto_trace(store, results);
  }
  return views;
}

}  // namespace accel::report
