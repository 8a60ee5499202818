#include "cli/job_trace.h"

#include <algorithm>

#include "base/atomic_file.h"
#include "cli/console.h"
#include "cli/interrupt.h"
#include "fusion/rank_set/load_digest.h"
#include "report/anonymize/anonymize.h"
#include "report/perfetto/job_axis.h"

namespace accel::cli {
namespace {

struct Rank {
  TraceStore store;
  AnalysisResults results;
};

Result<Rank> read(const std::string& path, const JobTraceOptions& options) {
  ConsoleProgress progress(options.quiet, path);
  ImportOptions import = options.import;
  AnalysisOptions analysis = options.analysis;
  import.progress = analysis.progress = &progress;
  auto store = import_trace(path, import);
  if (!store) return store.error();
  if (options.pseudonyms != nullptr) report::anonymize_names(*store, *options.pseudonyms);
  auto results = run_analyses(*store, analysis);
  if (!results) return results.error();
  if (options.pseudonyms != nullptr) {
    Diagnosis none;
    report::anonymize_shapes(*store, none, *options.pseudonyms);
  }
  if (interrupted()) return Error{ErrorCode::cancelled, "interrupted", ""};
  return Rank{std::move(*store), std::move(*results)};
}

}  // namespace

bool is_perfetto_name(const std::string& output) {
  constexpr std::string_view kEndings[] = {".perfetto", ".perfetto-trace", ".pftrace"};
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&](std::string_view ending) { return output.ends_with(ending); });
}

Result<void> write_job_trace(const fusion::Job& job, const std::map<std::string, std::string>& path_of,
                             const JobTraceOptions& options) {
  for (const fusion::RankDigest& digest : job.set.ranks) {
    const auto path = path_of.find(digest.source);
    if (path == path_of.end() || (path->second != "-" && fusion::is_digest_file(path->second)))
      return Error{ErrorCode::invalid_argument,
                   "a digest holds no single records: give the trace that it was made from",
                   path == path_of.end() ? digest.source : path->second};
  }
  auto file = AtomicFile::create(options.output);
  if (!file) return file.error();
  Result<void> state;
  report::PerfettoTrace trace([&](std::string_view bytes) {
    if (state) state = file->write(bytes);
  });
  const report::JobAxis axis(job);
  for (std::size_t row = 0; row < job.set.ranks.size(); ++row) {
    const std::string& path = path_of.at(job.set.ranks[row].source);
    auto rank = read(path, options);
    if (!rank) return rank.error().where.empty() ? Error{rank.error().code, rank.error().message, path} : rank.error();
    const report::RankOnAxis place = axis.of(row, rank->store);
    trace.add(rank->store, rank->results, &place);
    if (!state) return state;
  }
  trace.finish();
  if (!state) return state;
  if (auto flushed = file->flush(); !flushed) return flushed;
  return file->publish();
}

}  // namespace accel::cli
