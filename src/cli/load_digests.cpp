#include "cli/load_digests.h"

#include <utility>

#include "cli/console.h"
#include "cli/find_traces.h"
#include "cli/interrupt.h"
#include "fusion/rank_set/load_digest.h"

namespace accel::cli {

Result<LoadedDigests> load_digests(const std::vector<std::string>& paths, const RankOptions& options, bool quiet) {
  const auto candidates = find_traces(paths);
  if (!candidates) return candidates.error();
  LoadedDigests loaded;
  for (const Candidate& candidate : *candidates) {
    loaded.files.push_back(candidate.path);
    ConsoleProgress progress(quiet, candidate.path);
    ImportOptions import = options.import;
    AnalysisOptions analysis = options.analysis;
    import.progress = analysis.progress = &progress;
    auto digest = fusion::load_digest(candidate.path, import, analysis);
    if (digest) {
      loaded.digests.push_back(std::move(*digest));
      continue;
    }
    if (digest.error().code == ErrorCode::cancelled) die_of_interrupt();
    if (!candidate.asked_for && digest.error().code == ErrorCode::not_a_trace) continue;
    print_error(Error{digest.error().code, digest.error().message, candidate.path});
    loaded.all_read = false;
  }
  return loaded;
}

}  // namespace accel::cli
