// What the database gives back: runs, kernels, samples, counters.
#include <sqlite3.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "history/database.h"
#include "history/statement.h"

namespace accel::history {
namespace {

// "key=value" lines, as they were written.
std::map<std::string, std::string> versions_of(std::string_view text) {
  std::map<std::string, std::string> versions;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t equal = line.find('=');
    if (equal != std::string_view::npos)
      versions[std::string(line.substr(0, equal))] = std::string(line.substr(equal + 1));
  }
  return versions;
}

}  // namespace

Result<RunSamples> Database::run_samples(const RunRow& row) {
  RunSamples run{row.fingerprint, row.label,        row.source,        row.producer, row.time_ns,
                 row.versions,    row.sm_clock_mhz, row.clock_reasons, row.left_out, {}};
  Statement select(handle_,
                   "SELECT op, dims, types, strides, device, concrete, name, grid, block, count, total_ns, min_ns, "
                   "median_ns, max_ns, kernel.id FROM sample JOIN kernel ON kernel.id = kernel JOIN work ON work.id = "
                   "work WHERE run = ? ORDER BY kernel.id");
  select.bind(row.id);
  std::map<std::int64_t, std::size_t> place;
  while (select.step() && run.kernels.size() < kMostKernelsOfRun) {
    place[select.number(14)] = run.kernels.size();
    run.kernels.push_back({{{select.text(0), select.text(1), select.text(2), select.text(3), select.text(4)},
                            select.text(6),
                            select.text(7),
                            select.text(8)},
                           select.text(5),
                           static_cast<std::uint64_t>(select.number(9)),
                           select.number(10),
                           select.number(11),
                           select.number(12),
                           select.number(13),
                           {}});
  }
  if (!select.ok()) return error("reading failed");
  Statement counters(handle_, "SELECT kernel, metric, value FROM counter WHERE run = ?");
  counters.bind(row.id);
  while (counters.step()) {
    const auto at = place.find(counters.number(0));
    if (at != place.end()) run.kernels[at->second].counters[counters.text(1)] = counters.real(2);
  }
  if (!counters.ok()) return error("reading failed");
  return run;
}

Result<std::vector<RunRow>> Database::runs() {
  Statement select(
      handle_,
      "SELECT id, fingerprint, label, source, producer, time_ns, versions, sm_clock_mhz, clock_reasons, "
      "left_out, (SELECT count(*) FROM sample WHERE run = run.id), (SELECT group_concat(device, ', ') FROM "
      "(SELECT DISTINCT device FROM sample JOIN kernel ON kernel.id = kernel JOIN work ON work.id = work "
      "WHERE run = run.id ORDER BY device)) FROM run ORDER BY time_ns, id");
  std::vector<RunRow> rows;
  while (select.step() && static_cast<std::int64_t>(rows.size()) < kMostRuns) {
    RunRow row;
    row.id = select.number(0);
    row.fingerprint = select.text(1);
    row.label = select.text(2);
    row.source = select.text(3);
    row.producer = select.text(4);
    row.time_ns = select.number(5);
    row.versions = versions_of(select.text(6));
    if (!select.null(7)) row.sm_clock_mhz = select.real(7);
    row.clock_reasons = static_cast<std::uint64_t>(select.number(8));
    row.left_out = static_cast<std::uint64_t>(select.number(9));
    row.kernels = select.number(10);
    row.device = select.text(11);
    rows.push_back(std::move(row));
  }
  if (!select.ok()) return error("reading failed");
  return rows;
}

namespace {

constexpr const char* kKernels =
    "SELECT kernel.id, work, op, dims, types, strides, device, name, grid, block, concrete FROM kernel JOIN work ON "
    "work.id = work WHERE ?1 < 0 OR kernel.id = ?1 ORDER BY kernel.id";

KernelRow kernel_row(const Statement& select) {
  return {select.number(0),
          select.number(1),
          {{select.text(2), select.text(3), select.text(4), select.text(5), select.text(6)},
           select.text(7),
           select.text(8),
           select.text(9)},
          select.text(10)};
}

}  // namespace

Result<std::vector<KernelRow>> Database::kernels() {
  Statement select(handle_, kKernels);
  select.bind(std::int64_t{-1});
  std::vector<KernelRow> rows;
  while (select.step()) rows.push_back(kernel_row(select));
  if (!select.ok()) return error("reading failed");
  return rows;
}

Result<std::optional<KernelRow>> Database::kernel(std::int64_t id) {
  if (id < 0) return std::optional<KernelRow>();
  Statement select(handle_, kKernels);
  select.bind(id);
  if (select.step()) return std::optional(kernel_row(select));
  if (!select.ok()) return error("reading failed");
  return std::optional<KernelRow>();
}

Result<std::vector<SampleRow>> Database::samples(std::optional<std::int64_t> kernel) {
  Statement select(
      handle_,
      "SELECT run, kernel, count, total_ns, min_ns, median_ns, max_ns FROM sample JOIN run ON run.id = run "
      "WHERE ?1 < 0 OR kernel = ?1 ORDER BY kernel, time_ns, run");
  select.bind(kernel.value_or(-1));
  std::vector<SampleRow> rows;
  while (select.step()) {
    rows.push_back({select.number(0), select.number(1), static_cast<std::uint64_t>(select.number(2)), select.number(3),
                    select.number(4), select.number(5), select.number(6)});
  }
  if (!select.ok()) return error("reading failed");
  return rows;
}

Result<std::vector<CounterRow>> Database::counters(std::int64_t kernel) {
  Statement select(handle_,
                   "SELECT run, metric, value FROM counter JOIN run ON run.id = run WHERE kernel = ? ORDER BY time_ns, "
                   "run, metric");
  select.bind(kernel);
  std::vector<CounterRow> rows;
  while (select.step()) rows.push_back({select.number(0), select.text(1), select.real(2)});
  if (!select.ok()) return error("reading failed");
  return rows;
}

}  // namespace accel::history
