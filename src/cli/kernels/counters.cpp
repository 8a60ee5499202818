// kernels counters: what hardware counters mean, kernel by kernel; and the files that hold them.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/kernels/counter_files.h"
#include "cli/kernels/options.h"
#include "diagnosis/kernel_counters/translation.h"
#include "report/plain_text.h"

namespace accel::cli {
namespace {

using nlohmann::ordered_json;

Result<std::string> read_text(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return Error{ErrorCode::not_found, "no such file", path};
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (!error && size > kLargestCounterText)
    return Error{ErrorCode::out_of_range, "the file is too large to be a table of counters", path};
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::io, "the file cannot be read", path};
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

// The longest first, where their time was measured; else as they came.
void by_time(std::vector<KernelCounters>& kernels) {
  const auto time = [](const KernelCounters& one) {
    const auto found = one.metrics.find("gpu__time_duration.sum");
    return found == one.metrics.end() ? 0.0 : found->second.value * static_cast<double>(one.launches);
  };
  std::stable_sort(kernels.begin(), kernels.end(),
                   [&](const KernelCounters& a, const KernelCounters& b) { return time(a) > time(b); });
}

ordered_json json_of(const KernelCounters& one) {
  ordered_json json{{"kernel", one.short_name},
                    {"name", one.name},
                    {"grid", one.grid},
                    {"block", one.block},
                    {"launches", one.launches},
                    {"reasons", ordered_json::array()},
                    {"metrics", ordered_json::array()}};
  const std::vector<CounterReading> readings = read_counters(one.values());
  for (const CounterReading* reason : reasons(readings, one.short_name)) {
    json["reasons"].push_back({{"metric", reason->row->name},
                               {"because", reason->row->because},
                               {"suggests", reason->row->suggests},
                               {"value", reason->value},
                               {"unit", reason->row->unit},
                               {"limit", reason->row->limit}});
  }
  for (const CounterReading& reading : readings) {
    json["metrics"].push_back({{"metric", reading.row->name},
                               {"value", reading.value},
                               {"unit", reading.row->unit},
                               {"meaning", reading.row->phrase},
                               {"source", reading.row->source}});
  }
  return json;
}

void print(const KernelCounters& one) {
  fmt::print("{}{}, {} launch{}\n", report::visible_text(one.short_name), one.grid.empty() ? "" : "  grid " + one.grid,
             one.launches, one.launches == 1 ? "" : "es");
  const std::vector<CounterReading> readings = read_counters(one.values());
  const auto why = reasons(readings, one.short_name);
  for (const CounterReading* reason : why)
    fmt::print("  > {} ({}).\n    Try: {}.\n", reason->row->because, value_text(reason->value, reason->row->unit),
               reason->row->suggests);
  if (why.empty()) fmt::print("  > No counter here says why it would be slow.\n");
  for (const CounterReading& reading : readings) fmt::print("    {}\n", report::visible_text(reading.sentence));
  if (readings.empty()) fmt::print("    none of its {} metrics is in the table\n", one.metrics.size());
}

}  // namespace

Result<std::vector<KernelCounters>> read_counter_files(const std::vector<std::string>& paths) {
  std::vector<KernelCounters> all;
  std::map<std::string, std::size_t> place;
  for (const std::string& path : paths) {
    const auto text = read_text(path);
    if (!text) return text.error();
    auto table = read_counter_table(*text, path);
    if (!table) return table.error();
    for (KernelCounters& one : *table) {
      const auto [known, fresh] = place.try_emplace(one.name + "\n" + one.grid + "\n" + one.block, all.size());
      if (fresh) {
        all.push_back(std::move(one));
      } else {
        for (const auto& [name, metric] : one.metrics) all[known->second].metrics.try_emplace(name, metric);
      }
    }
  }
  return all;
}

int explain_counters(const KernelsOptions& options) {
  auto kernels = read_counter_files(options.counters);
  if (!kernels) return kernels_failed(kernels.error());
  by_time(*kernels);
  const std::size_t found = kernels->size();
  if (kernels->size() > options.limit) kernels->resize(options.limit);
  if (options.json) {
    ordered_json json = ordered_json::array();
    for (const KernelCounters& one : *kernels) json.push_back(json_of(one));
    fmt::print("{}\n", json.dump(2, ' ', false, ordered_json::error_handler_t::replace));
    return finish_output(kDone);
  }
  for (const KernelCounters& one : *kernels) print(one);
  if (found > kernels->size()) fmt::print("{} more (--limit)\n", found - kernels->size());
  return finish_output(kDone);
}

}  // namespace accel::cli
