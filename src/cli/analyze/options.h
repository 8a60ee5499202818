// The options of `accel-profiler analyze`. Filled once by the command line, then constant.
#pragma once

#include <string>
#include <vector>

#include "analysis/analysis.h"
#include "compare/condition.h"
#include "ingest/importer.h"
#include "report/build_document.h"
#include "report/labels.h"
#include "report/writer.h"

namespace accel::cli {

struct AnalyzeOptions {
  std::vector<std::string> paths;
  std::vector<std::string> counters;  // files of ncu --csv
  std::vector<std::string> topology;  // files with outputs of nvidia-smi; empty: what lies beside the traces
  std::string output;                 // empty: kDefaultFolder/NAME
  ImportOptions import;
  AnalysisOptions analysis;
  std::vector<const report::WriterDescriptor*> writers;
  report::Language language = report::Language::english;
  std::string anonymize_key;  // file of the pseudonyms; empty: nothing is made anonymous
  std::vector<compare::Condition> fail_if;
  report::BuildOptions report;
  bool quiet = false;
  bool no_colour = false;
  bool strict = false;
};

inline constexpr const char* kDefaultFolder = "accel-report";

int analyze(const AnalyzeOptions& options);

}  // namespace accel::cli
