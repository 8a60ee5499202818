// From what was measured and concluded to the content of the report. Pure: the Document depends on the arguments alone.
#pragma once

#include <optional>

#include "analysis/analysis.h"
#include "diagnosis/diagnosis.h"
#include "report/document.h"
#include "trace/trace_store.h"

namespace accel::report {

struct BuildOptions {
  bool full = false;                       // no list is cut
  std::optional<double> samples_per_step;  // stated by the caller, instead of what the shapes say
  std::optional<double> tokens_per_step;
};

Document build_document(const TraceStore& store, const AnalysisResults& results, const Diagnosis& diagnosis,
                        const BuildOptions& options);

}  // namespace accel::report
