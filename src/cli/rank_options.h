// Options of every command that reads ranks of a job, traces or digests. One thread.
#pragma once

#include "analysis/analysis.h"
#include "ingest/importer.h"

namespace CLI {
class App;
}

namespace accel::cli {

struct RankOptions {
  ImportOptions import;
  AnalysisOptions analysis;
};

// --step-annotation and --threads. Both must outlive the parsing.
void add_rank_options(CLI::App& app, ImportOptions& import, AnalysisOptions& analysis);

// After the parsing: what one option sets in several places.
void settle(RankOptions& options);

}  // namespace accel::cli
