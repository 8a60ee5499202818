// kernels show and runs.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/kernels/options.h"
#include "diagnosis/kernel_counters/translation.h"
#include "history/regressions.h"
#include "report/plain_text.h"

namespace accel::cli {
namespace {

using nlohmann::ordered_json;

ordered_json json_of(const history::KernelRow& row) {
  const auto& work = row.identity.work;
  return {
      {"id", row.id},         {"kernel", row.identity.name}, {"grid", row.identity.grid}, {"block", row.identity.block},
      {"op", work.op},        {"dims", work.dims},           {"types", work.types},       {"strides", work.strides},
      {"device", work.device}};
}

ordered_json json_of(const history::RunRow& run) {
  ordered_json json{{"run", run.id},           {"label", run.label},
                    {"source", run.source},    {"producer", run.producer},
                    {"device", run.device},    {"time_ns", std::to_string(run.time_ns)},
                    {"kernels", run.kernels},  {"left_out", run.left_out},
                    {"sm_clock_mhz", nullptr}, {"clock_reasons", run.clock_reasons},
                    {"versions", run.versions}};
  if (run.sm_clock_mhz) json["sm_clock_mhz"] = *run.sm_clock_mhz;
  return json;
}

int print_json(const ordered_json& json) {
  fmt::print("{}\n", json.dump(2, ' ', false, ordered_json::error_handler_t::replace));
  return finish_output(kDone);
}

std::string name_of(const history::RunRow& run) {
  return report::visible_text(run.label.empty() ? run.source : run.label + " (" + run.source + ")");
}

void print_counters(const std::vector<history::CounterRow>& counters, std::int64_t run) {
  std::map<std::string, double> values;
  for (const history::CounterRow& row : counters) {
    if (row.run == run) values[row.metric] = row.value;
  }
  for (const CounterReading& reading : read_counters(values))
    fmt::print("        {}\n", report::visible_text(reading.sentence));
}

int show_one(history::Database& database, const KernelsOptions& options) {
  const auto kernel = database.kernel(*options.kernel);
  if (!kernel) return kernels_failed(kernel.error());
  if (!*kernel) {
    return kernels_failed(
        Error{ErrorCode::not_found, fmt::format("the kernel database has no kernel {}", *options.kernel), "ID"});
  }
  const auto runs = database.runs();
  if (!runs) return kernels_failed(runs.error());
  const auto samples = database.samples(options.kernel);
  if (!samples) return kernels_failed(samples.error());
  const auto counters = database.counters(*options.kernel);
  if (!counters) return kernels_failed(counters.error());
  std::map<std::int64_t, const history::RunRow*> run_of;
  for (const history::RunRow& run : *runs) run_of[run.id] = &run;
  if (options.json) {
    ordered_json json = json_of(**kernel);
    json["history"] = ordered_json::array();
    for (const history::SampleRow& row : *samples) {
      ordered_json one{{"run", row.run},       {"label", run_of[row.run]->label},
                       {"count", row.count},   {"total_ns", row.total_ns},
                       {"min_ns", row.min_ns}, {"median_ns", row.median_ns},
                       {"max_ns", row.max_ns}, {"counters", ordered_json::object()}};
      for (const history::CounterRow& counter : *counters) {
        if (counter.run == row.run) one["counters"][counter.metric] = counter.value;
      }
      json["history"].push_back(std::move(one));
    }
    return print_json(json);
  }
  const auto& identity = (*kernel)->identity;
  fmt::print("kernel {}  {}\n", (*kernel)->id, report::visible_text(identity.name));
  fmt::print("  grid {}, block {}, on {}\n", identity.grid.empty() ? "not recorded" : identity.grid,
             identity.block.empty() ? "not recorded" : identity.block,
             identity.work.device.empty() ? "an unknown device" : report::visible_text(identity.work.device));
  fmt::print("  {}\n\n", work_text(identity.work));
  fmt::print("{:>5}  {:>12}  {:>12}  {:>12}  {:>8}  {}\n", "run", "median", "shortest", "longest", "launches", "which");
  for (const history::SampleRow& row : *samples) {
    fmt::print("{:>5}  {:>12}  {:>12}  {:>12}  {:>8}  {}\n", row.run, time_text(static_cast<double>(row.median_ns)),
               time_text(static_cast<double>(row.min_ns)), time_text(static_cast<double>(row.max_ns)), row.count,
               name_of(*run_of[row.run]));
    print_counters(*counters, row.run);
  }
  return finish_output(kDone);
}

bool holds(const history::KernelRow& row, const std::string& text) {
  const auto& work = row.identity.work;
  return text.empty() || row.identity.name.find(text) != std::string::npos || work.op.find(text) != std::string::npos ||
         work.dims.find(text) != std::string::npos;
}

struct Line {
  const history::KernelRow* kernel = nullptr;
  const history::SampleRow* newest = nullptr;  // of the newest run that has it
  std::int64_t runs = 0;
};

int show_many(history::Database& database, const KernelsOptions& options) {
  const auto content = history::read_content(database);
  if (!content) return kernels_failed(content.error());
  std::map<std::int64_t, Line> lines;
  for (const history::KernelRow& row : content->kernels) {
    if (holds(row, options.contains)) lines[row.id].kernel = &row;
  }
  for (const history::SampleRow& row : content->samples) {
    const auto line = lines.find(row.kernel);
    if (line == lines.end()) continue;
    line->second.newest = &row;  // samples of a kernel come in the order of the runs
    ++line->second.runs;
  }
  // Without a text, what the newest run ran.
  std::vector<Line> wanted;
  const std::int64_t newest = content->runs.empty() ? -1 : content->runs.back().id;
  for (const auto& [id, line] : lines) {
    if (line.newest != nullptr && (!options.contains.empty() || line.newest->run == newest)) wanted.push_back(line);
  }
  std::stable_sort(wanted.begin(), wanted.end(),
                   [](const Line& a, const Line& b) { return a.newest->total_ns > b.newest->total_ns; });
  const std::size_t found = wanted.size();
  if (wanted.size() > options.limit) wanted.resize(options.limit);
  if (options.json) {
    ordered_json json = ordered_json::array();
    for (const Line& line : wanted) {
      ordered_json one = json_of(*line.kernel);
      one["runs"] = line.runs;
      one["run"] = line.newest->run;
      one["median_ns"] = line.newest->median_ns;
      one["total_ns"] = line.newest->total_ns;
      one["count"] = line.newest->count;
      json.push_back(std::move(one));
    }
    return print_json(json);
  }
  fmt::print("{:>6}  {:>10}  {:>10}  {:>8}  {:>5}  {}\n", "id", "median", "in all", "launches", "runs", "kernel; op");
  for (const Line& line : wanted) {
    fmt::print("{:>6}  {:>10}  {:>10}  {:>8}  {:>5}  {}\n", line.kernel->id,
               time_text(static_cast<double>(line.newest->median_ns)),
               time_text(static_cast<double>(line.newest->total_ns)), line.newest->count, line.runs,
               report::visible_text(line.kernel->identity.name));
    fmt::print("{:>47}{}\n", "", work_text(line.kernel->identity.work));
  }
  if (found > wanted.size()) fmt::print("{} more (--limit)\n", found - wanted.size());
  return finish_output(kDone);
}

}  // namespace

int show_kernels(const KernelsOptions& options) {
  auto database = history::Database::open(options.database, history::Database::Mode::read);
  if (!database) return kernels_failed(database.error());
  return options.kernel ? show_one(*database, options) : show_many(*database, options);
}

int list_kernel_runs(const KernelsOptions& options) {
  auto database = history::Database::open(options.database, history::Database::Mode::read);
  if (!database) return kernels_failed(database.error());
  const auto runs = database->runs();
  if (!runs) return kernels_failed(runs.error());
  if (options.json) {
    ordered_json json = ordered_json::array();
    for (const history::RunRow& run : *runs) json.push_back(json_of(run));
    return print_json(json);
  }
  fmt::print("{:>5}  {:<19}  {:>7}  {:>9}  {:<20}  {}\n", "run", "captured (UTC)", "kernels", "SM clock", "device",
             "which");
  for (const history::RunRow& run : *runs) {
    fmt::print("{:>5}  {:<19}  {:>7}  {:>9}  {:<20}  {}\n", run.id, when_text(run.time_ns), run.kernels,
               run.sm_clock_mhz ? fmt::format("{:.0f} MHz", *run.sm_clock_mhz) : "-", report::visible_text(run.device),
               name_of(run));
  }
  return finish_output(kDone);
}

}  // namespace accel::cli
