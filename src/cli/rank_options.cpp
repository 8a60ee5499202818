#include "cli/rank_options.h"

#include <CLI/CLI.hpp>

namespace accel::cli {

void add_rank_options(CLI::App& app, ImportOptions& import, AnalysisOptions& analysis) {
  app.add_option("--step-annotation", analysis.step_annotation,
                 "the user range that marks a step, instead of ProfilerStep#N")
      ->type_name("NAME");
  app.add_option("--threads", import.threads, "threads to use [one per core]")
      ->check(CLI::Range(0U, 1024U).description(""))
      ->type_name("N");
}

void settle(RankOptions& options) { options.analysis.threads = options.import.threads; }

}  // namespace accel::cli
