#include "analysis/analysis.h"

#include <algorithm>

#include "base/progress.h"

namespace accel {

#define FRAMEWORK(name)
#define ANALYSIS(name, Type) AnalysisDescriptor describe_##name();
#include "analysis/catalog.def"
#undef ANALYSIS

namespace {

std::vector<AnalysisDescriptor> collect() {
  std::vector<AnalysisDescriptor> all;
#define ANALYSIS(name, Type) all.push_back(describe_##name());
#include "analysis/catalog.def"
#undef ANALYSIS
#undef FRAMEWORK
  return all;
}

}  // namespace

const std::vector<AnalysisDescriptor>& analyses() {
  static const std::vector<AnalysisDescriptor> all = collect();
  return all;
}

Result<AnalysisResults> run_analyses(const TraceStore& store, const AnalysisOptions& options) {
  AnalysisResults results;
  std::uint64_t done = 0;
  for (const AnalysisDescriptor& analysis : analyses()) {
    if (options.progress != nullptr && options.progress->report(analysis.id, done, analyses().size())) {
      return Error{ErrorCode::cancelled, "stopped on request", std::string(analysis.id)};
    }
    if (Result<void> ran = analysis.run(store, results, options); !ran) return ran.error();
    ++done;
  }
  return results;
}

}  // namespace accel
