#include "cli/load_digests.h"

#include <utility>

#include "cli/console.h"
#include "cli/find_traces.h"
#include "cli/interrupt.h"
#include "cli/load_rank.h"

namespace accel::cli {

Result<LoadedDigests> load_digests(const std::vector<std::string>& paths, const RankOptions& options, bool quiet,
                                   report::Pseudonyms* pseudonyms) {
  const auto candidates = find_traces(paths);
  if (!candidates) return candidates.error();
  LoadedDigests loaded;
  for (const Candidate& candidate : *candidates) {
    loaded.files.push_back(candidate.path);
    ConsoleProgress progress(quiet, candidate.path);
    ImportOptions import = options.import;
    AnalysisOptions analysis = options.analysis;
    import.progress = analysis.progress = &progress;
    std::optional<report::RankTree> tree;
    auto digest = load_rank(candidate.path, import, analysis, pseudonyms, &tree, &loaded.topology);
    if (digest) {
      if (tree) loaded.trees.push_back(std::move(*tree));
      loaded.path_of[digest->source] = candidate.path;
      loaded.digests.push_back(std::move(*digest));
      continue;
    }
    if (digest.error().code == ErrorCode::cancelled) die_of_interrupt();
    const bool other = digest.error().code == ErrorCode::not_a_trace;
    if (other && (loaded.dumps.take(candidate.path) || !candidate.asked_for)) continue;
    print_error(Error{digest.error().code, digest.error().message, candidate.path});
    loaded.all_read = false;
  }
  return loaded;
}

}  // namespace accel::cli
