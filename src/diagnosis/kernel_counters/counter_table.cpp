#include "diagnosis/kernel_counters/counter_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <tuple>

#include "analysis/kernel_table.h"

namespace accel {
namespace {

// Cells of one line of CSV with quotes doubled inside quotes.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"') {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"') {
        cells.back() += c;
        ++i;
      } else {
        quoted = !quoted;
      }
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

// "81,856", "10.53", "1.2e+06"; a decimal comma has at most two digits behind it and no group before another.
std::optional<double> number_of(std::string_view text) {
  std::string plain;
  const std::size_t comma = text.rfind(',');
  const bool decimal_comma = comma != std::string_view::npos && text.find('.') == std::string_view::npos &&
                             std::count(text.begin(), text.end(), ',') == 1 && text.size() - comma - 1 != 3;
  for (const char c : text) {
    if (c == ',') {
      if (decimal_comma) plain += '.';
    } else if (c != ' ') {
      plain += c;
    }
  }
  double value = 0;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (error != std::errc() || end != plain.data() + plain.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

// "(1056, 1, 1)" -> "1056x1x1".
std::string extent_of(std::string_view text) {
  std::string extent;
  for (const char c : text) {
    if (c >= '0' && c <= '9') extent += c;
    if (c == ',') extent += 'x';
  }
  return std::count(extent.begin(), extent.end(), 'x') == 2 && extent.size() <= 40 ? extent : std::string();
}

// To bytes, ns and plain counts.
double in_base_unit(double value, std::string_view unit) {
  struct Unit {
    std::string_view name;
    double factor;
  };
  constexpr Unit kUnits[] = {
      {"Kbyte", 1e3}, {"Mbyte", 1e6},   {"Gbyte", 1e9}, {"Tbyte", 1e12}, {"usecond", 1e3},
      {"us", 1e3},    {"msecond", 1e6}, {"ms", 1e6},    {"second", 1e9}, {"s", 1e9},
  };
  for (const Unit& known : kUnits) {
    if (known.name == unit) return value * known.factor;
  }
  return value;
}

// ncu writes an unnamed namespace as if it were a template argument.
std::string without_unnamed(std::string_view name) {
  constexpr std::string_view kUnnamed = "<unnamed>::";
  std::string text(name);
  for (std::size_t at = text.find(kUnnamed); at != std::string::npos; at = text.find(kUnnamed, at))
    text.erase(at, kUnnamed.size());
  return text;
}

struct Columns {
  std::optional<std::size_t> id, kernel, block, grid, capability, metric, unit, value;
  std::vector<std::pair<std::size_t, std::string>> metrics;  // of the wide form
};

// Names of metrics hold two underscores in a row; no other column does.
bool names_metric(std::string_view title) { return title.find("__") != std::string_view::npos; }

std::optional<Columns> header_of(const std::vector<std::string>& cells) {
  Columns columns;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string& title = cells[i];
    if (title == "ID") columns.id = i;
    if (title == "Kernel Name") columns.kernel = i;
    if (title == "Block Size") columns.block = i;
    if (title == "Grid Size") columns.grid = i;
    if (title == "CC") columns.capability = i;
    if (title == "Metric Name") columns.metric = i;
    if (title == "Metric Unit") columns.unit = i;
    if (title == "Metric Value") columns.value = i;
    if (names_metric(title)) columns.metrics.emplace_back(i, title);
  }
  const bool is_long = columns.metric && columns.value;
  if (!columns.kernel || (!is_long && columns.metrics.empty())) return std::nullopt;
  if (is_long) columns.metrics.clear();
  return columns;
}

class Reader {
 public:
  Result<bool> line(std::string_view text) {
    if (text.empty() || text.starts_with("==")) return false;
    const std::vector<std::string> cells = cells_of(text);
    if (auto header = header_of(cells)) {
      columns_ = std::move(header);
      units_.clear();
      return true;
    }
    if (!columns_) return false;
    const std::string& kernel = cell(cells, columns_->kernel);
    if (kernel.empty()) {
      units_ = cells;  // the second line of the wide form
      return false;
    }
    if (columns_->metric && cells.size() <= *columns_->value) return false;  // output of the program in between
    auto place = find(cells, kernel);
    if (!place) return place.error();
    Sums& sums = sums_[*place];
    const std::string id = cell(cells, columns_->id);
    if (sums.last_id != id || id.empty()) {
      // In the long form a launch has one line per metric, all with its id.
      ++kernels_[*place].launches;
      sums.last_id = id;
    }
    if (columns_->metric) {
      add(sums, cell(cells, columns_->metric), cell(cells, columns_->value), cell(cells, columns_->unit));
    } else {
      for (const auto& [at, name] : columns_->metrics) {
        if (at < cells.size()) add(sums, name, cells[at], at < units_.size() ? units_[at] : std::string());
      }
    }
    return true;
  }

  std::vector<KernelCounters> finish() {
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      for (const auto& [name, sum] : sums_[i].of)
        kernels_[i].metrics[name] = {sum.total / static_cast<double>(sum.count), sum.unit};
    }
    return std::move(kernels_);
  }
  bool found_table() const { return columns_.has_value(); }

 private:
  struct Sum {
    double total = 0;
    std::uint64_t count = 0;
    std::string unit;
  };
  struct Sums {
    std::map<std::string, Sum> of;
    std::string last_id;
  };

  static const std::string& cell(const std::vector<std::string>& cells, std::optional<std::size_t> at) {
    static const std::string empty;
    return at && *at < cells.size() ? cells[*at] : empty;
  }

  Result<std::size_t> find(const std::vector<std::string>& cells, const std::string& kernel) {
    auto key = std::tuple(kernel, extent_of(cell(cells, columns_->grid)), extent_of(cell(cells, columns_->block)));
    const auto known = places_.find(key);
    if (known != places_.end()) return known->second;
    if (kernels_.size() >= kMostCounterKernels)
      return Error{ErrorCode::out_of_range, fmt::format("the table holds more than {} kernels", kMostCounterKernels),
                   ""};
    KernelCounters one;
    one.name = kernel;
    one.short_name = short_kernel_name(without_unnamed(kernel));
    one.grid = std::get<1>(key);
    one.block = std::get<2>(key);
    one.device = cell(cells, columns_->capability);
    kernels_.push_back(std::move(one));
    sums_.emplace_back();
    places_.emplace(std::move(key), kernels_.size() - 1);
    return kernels_.size() - 1;
  }

  static void add(Sums& sums, const std::string& name, const std::string& value, const std::string& unit) {
    const auto number = number_of(value);
    if (!number || !(names_metric(name) || name.starts_with("launch"))) return;
    Sum& sum = sums.of[name];
    sum.total += in_base_unit(*number, unit);
    ++sum.count;
    sum.unit = unit;
  }

  std::optional<Columns> columns_;
  std::vector<std::string> units_;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> places_;
  std::vector<KernelCounters> kernels_;
  std::vector<Sums> sums_;
};

// "at::elementwise_kernel (add)": the function's own name, since namespaces are written differently by each tool, and
// what it was made for.
struct ShortName {
  std::string function;
  std::string made_for;
};

ShortName parts_of(std::string_view short_name) {
  ShortName parts;
  const std::size_t end = std::min(short_name.find_first_of("<("), short_name.size());
  const std::size_t paren = short_name.find(" (");
  if (paren != std::string_view::npos) parts.made_for = short_name.substr(paren + 1);
  parts.function = short_name.substr(0, end);
  while (parts.function.ends_with(' ')) parts.function.pop_back();
  const std::size_t colons = parts.function.rfind("::");
  if (colons != std::string::npos) parts.function.erase(0, colons + 2);
  return parts;
}

}  // namespace

std::map<std::string, double> KernelCounters::values() const {
  std::map<std::string, double> values;
  for (const auto& [metric, measured] : metrics) values[metric] = measured.value;
  return values;
}

Result<std::vector<KernelCounters>> read_counter_table(std::string_view text, const std::string& source) {
  if (text.size() > kLargestCounterText)
    return Error{ErrorCode::out_of_range, "the file is too large to be a table of counters", source};
  Reader reader;
  bool any = false;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto used = reader.line(line);
    if (!used) return Error{used.error().code, used.error().message, source};
    any = any || *used;
  }
  if (!any) {
    return Error{ErrorCode::not_a_trace,
                 "this is no table of counters; make one: ncu --csv --metrics ... COMMAND > ncu.csv", source};
  }
  return reader.finish();
}

CounterIndex::CounterIndex(const std::vector<KernelCounters>& all) {
  for (const KernelCounters& one : all) {
    by_short_name_[one.short_name].push_back(&one);
    by_last_part_[parts_of(one.short_name).function].push_back(&one);
  }
}

const KernelCounters* CounterIndex::find(std::string_view name, std::string_view grid, std::string_view block) const {
  const std::string wanted = short_kernel_name(without_unnamed(name));
  const ShortName parts = parts_of(wanted);
  struct Match {
    const KernelCounters* kernel = nullptr;
    bool any = false;  // there are some, though perhaps several that cannot be told apart
  };
  const auto only = [&](const Entries& entries, const std::string& key) {
    Match match;
    const auto found = entries.find(key);
    if (found == entries.end() || key.empty()) return match;
    for (const KernelCounters* one : found->second) {
      const bool fits = (grid.empty() || one->grid.empty() || grid == one->grid) &&
                        (block.empty() || one->block.empty() || block == one->block);
      const std::string made_for = parts_of(one->short_name).made_for;
      const bool other = !parts.made_for.empty() && !made_for.empty() && parts.made_for != made_for;
      if (!fits || other) continue;
      if (match.any) return Match{nullptr, true};
      match = {one, true};
    }
    return match;
  };
  const Match exact = only(by_short_name_, wanted);
  return exact.any ? exact.kernel : only(by_last_part_, parts.function).kernel;
}

}  // namespace accel
