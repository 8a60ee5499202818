// kernels record and merge.
#include <fmt/format.h>

#include <algorithm>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/find_traces.h"
#include "cli/interrupt.h"
#include "cli/kernels/counter_files.h"
#include "cli/kernels/options.h"
#include "history/kernel_samples.h"
#include "report/plain_text.h"

namespace accel::cli {
namespace {

// Counters of a kernel go to the samples of the same name and launch. The number of samples that got some.
std::size_t join_counters(history::RunSamples& run, const CounterIndex& counters) {
  std::size_t joined = 0;
  for (history::KernelSample& sample : run.kernels) {
    const KernelCounters* found = counters.find(sample.kernel.name, sample.kernel.grid, sample.kernel.block);
    if (found == nullptr) continue;
    for (const auto& [name, metric] : found->metrics) sample.counters[name] = metric.value;
    ++joined;
  }
  return joined;
}

}  // namespace

int record_kernels(const KernelsOptions& options) {
  const auto candidates = find_traces(options.paths);
  if (!candidates) return kernels_failed(candidates.error());
  const auto counters = read_counter_files(options.counters);
  if (!counters) return kernels_failed(counters.error());
  const CounterIndex index(*counters);
  auto database = history::Database::open(options.database, history::Database::Mode::write);
  if (!database) return kernels_failed(database.error());
  int status = kDone;
  std::size_t recorded = 0;
  for (const Candidate& candidate : *candidates) {
    ConsoleProgress progress(options.quiet, candidate.path);
    ImportOptions import = options.import;
    AnalysisOptions analysis = options.analysis;
    import.progress = analysis.progress = &progress;
    const auto store = import_trace(candidate.path, import);
    if (!store) {
      if (!candidate.asked_for && store.error().code == ErrorCode::not_a_trace) continue;
      status = kernels_failed(store.error());
      continue;
    }
    const auto results = run_analyses(*store, analysis);
    if (!results) return kernels_failed(results.error());
    history::RunSamples run = history::kernel_samples(*store, *results);
    if (run.kernels.empty()) {
      print_error(Error{ErrorCode::unreadable, "holds no kernels of a device: nothing to record", candidate.path});
      status = kUnreadable;
      continue;
    }
    run.label = options.label;
    const std::size_t joined = join_counters(run, index);
    const auto outcome = database->record(run, options.keep);
    if (!outcome) return kernels_failed(outcome.error());
    ++recorded;
    if (options.quiet) continue;
    fmt::print("run {}: {} of {}{}\n", outcome->run, outcome->known ? "was recorded before" : "recorded",
               report::visible_text(run.source),
               fmt::format(", {} kernels{}{}{}", run.kernels.size(),
                           run.left_out > 0 ? fmt::format(" ({} smaller ones left out)", run.left_out) : "",
                           counters->empty() ? "" : fmt::format(", counters of {}", joined),
                           outcome->runs_dropped > 0
                               ? fmt::format("; {} oldest run(s) dropped (--keep)", outcome->runs_dropped)
                               : ""));
  }
  if (recorded == 0 && status == kDone) {
    print_error(Error{ErrorCode::not_found, "none of the files is a trace", options.paths.front()});
    status = kUnreadable;
  }
  return finish_output(status);
}

int merge_kernels(const KernelsOptions& options) {
  // All are looked at before anything changes.
  std::vector<history::Database> others;
  for (const std::string& path : options.paths) {
    auto other = history::Database::open(path, history::Database::Mode::read);
    if (!other) return kernels_failed(other.error());
    others.push_back(std::move(*other));
  }
  auto database = history::Database::open(options.database, history::Database::Mode::write);
  if (!database) return kernels_failed(database.error());
  for (std::size_t i = 0; i < others.size(); ++i) {
    const auto came = database->merge(others[i], options.keep);
    if (!came) return kernels_failed(came.error());
    fmt::print("{}: {} new run(s)\n", report::visible_text(options.paths[i]), *came);
  }
  return finish_output(kDone);
}

}  // namespace accel::cli
