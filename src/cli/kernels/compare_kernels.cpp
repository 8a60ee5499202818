// kernels compare: one run against the earlier ones.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/kernels/options.h"
#include "history/regressions.h"
#include "report/plain_text.h"

namespace accel::cli {
namespace {

using history::Change;
using history::Regression;
using nlohmann::ordered_json;

std::string word(const Regression& one) {
  switch (one.change) {
    case Change::slower:
      return "slower";
    case Change::faster:
      return "faster";
    case Change::other_kernel:
      return one.worse() ? "slower, another kernel" : "another kernel";
  }
  return {};
}

std::string kernel_text(const history::KernelRow& row) {
  return report::visible_text(row.identity.name) + (row.identity.grid.empty() ? "" : " grid " + row.identity.grid);
}

std::vector<Regression> wanted(const history::RunComparison& comparison, bool all) {
  std::vector<Regression> chosen;
  for (const Regression& one : comparison.changes) {
    if (all || one.worse()) chosen.push_back(one);
  }
  return chosen;
}

int print_json(const history::RunComparison& comparison, const std::vector<Regression>& changes) {
  ordered_json json{{"run", comparison.run->id},       {"earlier_runs", ordered_json::array()},
                    {"kernels", comparison.kernels},   {"with_history", comparison.known_kernels},
                    {"clock_ratio", nullptr},          {"versions", ordered_json::array()},
                    {"changes", ordered_json::array()}};
  for (const history::RunRow* run : comparison.earlier) json["earlier_runs"].push_back(run->id);
  if (comparison.clock_ratio) json["clock_ratio"] = *comparison.clock_ratio;
  for (const history::VersionChange& change : comparison.versions)
    json["versions"].push_back({{"key", change.key}, {"before", change.before}, {"now", change.now}});
  for (const Regression& one : changes) {
    ordered_json entry{{"change", one.change == Change::slower   ? "slower"
                                  : one.change == Change::faster ? "faster"
                                                                 : "other_kernel"},
                       {"worse", one.worse()},
                       {"ratio", one.ratio()},
                       {"before_ns", one.before_ns},
                       {"highest_before_ns", one.highest_before_ns},
                       {"now_ns", one.now_ns},
                       {"total_ns", one.total_ns},
                       {"earlier_runs", one.earlier_runs},
                       {"id", one.kernel->id},
                       {"kernel", one.kernel->identity.name},
                       {"grid", one.kernel->identity.grid},
                       {"op", one.kernel->identity.work.op},
                       {"dims", one.kernel->identity.work.dims},
                       {"types", one.kernel->identity.work.types},
                       {"kernel_before", nullptr}};
    if (one.before != nullptr) entry["kernel_before"] = one.before->identity.name;
    json["changes"].push_back(std::move(entry));
  }
  fmt::print("{}\n", json.dump(2, ' ', false, ordered_json::error_handler_t::replace));
  return 0;
}

std::string earlier_runs(std::size_t count) { return fmt::format("{} earlier run{}", count, count == 1 ? "" : "s"); }

void print_head(const history::RunComparison& comparison) {
  const history::RunRow& run = *comparison.run;
  fmt::print("Run {} ({}) against {}{}\n", run.id, report::visible_text(run.label.empty() ? run.source : run.label),
             earlier_runs(comparison.earlier.size()),
             run.device.empty() ? "" : " on " + report::visible_text(run.device));
  if (comparison.earlier.empty()) {
    fmt::print("There is nothing to compare it with yet: record a second run on the same device.\n");
    return;
  }
  fmt::print("{} of its {} kernels have a history\n", comparison.known_kernels, comparison.kernels);
  for (const history::VersionChange& change : comparison.versions) {
    fmt::print("changed: {} {} -> {}\n", report::visible_text(change.key),
               change.before.empty() ? "(not stated)" : report::visible_text(change.before),
               change.now.empty() ? "(not stated)" : report::visible_text(change.now));
  }
  if (!comparison.clock_ratio) {
    fmt::print("The clock of the device was not recorded with both runs: a part of a difference may be the clock.\n");
  } else if (*comparison.clock_ratio * history::kClockMoved.value < 1 ||
             *comparison.clock_ratio > history::kClockMoved.value) {
    fmt::print("The clock of the device was {:.2f} times that of the run before: a part of the differences is that.\n",
               *comparison.clock_ratio);
  }
}

}  // namespace

int compare_kernels(const KernelsOptions& options) {
  auto database = history::Database::open(options.database, history::Database::Mode::read);
  if (!database) return kernels_failed(database.error());
  const auto content = history::read_content(*database);
  if (!content) return kernels_failed(content.error());
  const auto comparison = history::compare_run(*content, options.run, options.against);
  if (!comparison) return kernels_failed(comparison.error());
  std::vector<Regression> changes = wanted(*comparison, options.all);
  const auto worse = std::count_if(comparison->changes.begin(), comparison->changes.end(),
                                   [](const Regression& one) { return one.worse(); });
  const int status = options.fail && worse > 0 ? kConditionFailed : kDone;
  const std::size_t found = changes.size();
  if (changes.size() > options.limit) changes.resize(options.limit);
  if (options.json) {
    print_json(*comparison, changes);
    return finish_output(status);
  }
  print_head(*comparison);
  for (const Regression& one : changes) {
    fmt::print("\n{}  {:.2f}x  {} -> {}  (id {}; {}, the slowest {}; {} in this run)\n", word(one), one.ratio(),
               time_text(one.before_ns), time_text(one.now_ns), one.kernel->id, earlier_runs(one.earlier_runs),
               time_text(one.highest_before_ns), time_text(one.total_ns));
    fmt::print("  {}\n  {}\n", work_text(one.kernel->identity.work), kernel_text(*one.kernel));
    if (one.before != nullptr) fmt::print("  before: {}\n", kernel_text(*one.before));
  }
  if (found > changes.size()) fmt::print("\n{} more (--limit)\n", found - changes.size());
  if (!comparison->earlier.empty() && found == 0) fmt::print("Nothing got slower.\n");
  return finish_output(status);
}

}  // namespace accel::cli
