// One run for a comparison: a trace (read and analysed), a report.json or a saved baseline. One thread.
#pragma once

#include <string>

#include "analysis/analysis.h"
#include "base/result.h"
#include "ingest/importer.h"
#include "report/document.h"

namespace accel::cli {

struct LoadOptions {
  ImportOptions import;
  AnalysisOptions analysis;
  bool quiet = false;
};

Result<report::Document> load_run(const std::string& path, const LoadOptions& options);

}  // namespace accel::cli
