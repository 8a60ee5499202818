// One run for a comparison: a trace (read and analysed), a report.json or a saved baseline. One thread.
#pragma once

#include <string>

#include "analysis/analysis.h"
#include "base/result.h"
#include "ingest/importer.h"
#include "report/anonymize/pseudonyms.h"
#include "report/document.h"
#include "report/html/views.h"

namespace accel::cli {

struct LoadOptions {
  ImportOptions import;
  AnalysisOptions analysis;
  bool quiet = false;
  report::Pseudonyms* pseudonyms = nullptr;  // not null: what is the owner's in a trace becomes pseudonyms
};

struct LoadedRun {
  report::Document document;
  report::Views views;  // of a trace, its call tree at least; empty for a report or baseline
};

// With `views`, what a page shows beyond the document.
Result<LoadedRun> load_run(const std::string& path, const LoadOptions& options, bool views);
Result<report::Document> load_run(const std::string& path, const LoadOptions& options);

}  // namespace accel::cli
