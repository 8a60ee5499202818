#include "diagnosis/kernel_counters/translation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/ascii.h"

namespace accel {
namespace {

constexpr Side none = Side::none;
constexpr Side low = Side::low;
constexpr Side high = Side::high;
constexpr MetricRow kRows[] = {
#define METRIC(name, unit, phrase, side, limit, because, suggests, source) \
  {name, unit, phrase, side, limit, because, suggests, source},
#include "diagnosis/kernel_counters/metrics.def"
#undef METRIC
};

using Values = std::map<std::string, double>;

std::optional<double> value_of(const Values& values, std::string_view name) {
  const auto found = values.find(std::string(name));
  return found == values.end() || !std::isfinite(found->second) ? std::nullopt : std::optional(found->second);
}

// The sum of what is there; nothing when none is.
template <std::size_t N>
std::optional<double> sum_of(const Values& values, const std::array<std::string_view, N>& names) {
  std::optional<double> sum;
  for (const std::string_view name : names) {
    if (const auto value = value_of(values, name)) sum = sum.value_or(0) + *value;
  }
  return sum;
}

template <std::size_t N, std::size_t M>
void derive(Values& values, const char* name, const std::array<std::string_view, N>& part,
            const std::array<std::string_view, M>& whole) {
  const auto above = sum_of(values, part);
  const auto below = sum_of(values, whole);
  if (above && below && *below > 0 && *above >= 0) values[name] = std::min(100.0, 100 * *above / *below);
}

void derive_all(Values& values) {
  constexpr std::array<std::string_view, 1> kConflicts = {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"};
  constexpr std::array<std::string_view, 1> kWavefronts = {"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"};
  constexpr std::array<std::string_view, 2> kConflictsOf = {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
                                                            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"};
  constexpr std::array<std::string_view, 2> kWavefrontsOf = {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
                                                             "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"};
  derive(values, "bank_conflict_share", kConflictsOf, kWavefrontsOf);
  derive(values, "bank_conflict_share", kConflicts, kWavefronts);  // the whole, where it was measured
  constexpr std::array<std::string_view, 2> kLocal = {"l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
                                                      "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum"};
  constexpr std::array<std::string_view, 1> kSectors = {"l1tex__t_sectors.sum"};
  derive(values, "spill_share", kLocal, kSectors);
  constexpr std::string_view kNew = "sm__inst_executed_pipe_tensor_op_gmma.sum";
  constexpr std::array<std::string_view, 1> kOld = {"sm__inst_executed_pipe_tensor_op_hmma.sum"};
  constexpr std::array<std::string_view, 2> kBoth = {"sm__inst_executed_pipe_tensor_op_hmma.sum", kNew};
  if (value_of(values, kNew)) derive(values, "old_matrix_share", kOld, kBoth);
}

bool is_stall(std::string_view name) { return name.starts_with("smsp__average_warps_issue_stalled_"); }

// Products, convolutions and attention of the libraries, by their names.
bool is_matrix_kernel(std::string_view kernel) {
  const std::string name = ascii_lower(kernel);
  constexpr std::array<std::string_view, 9> kParts = {"gemm",  "nvjet", "cutlass", "xmma",     "fprop",
                                                      "dgrad", "wgrad", "fmha",    "attention"};
  return name.find("flash") != std::string::npos ||
         std::any_of(kParts.begin(), kParts.end(),
                     [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

bool is_full_unit(std::string_view name) {
  return name.starts_with("sm__pipe_tensor_cycles") || name.find("__throughput.") != std::string_view::npos;
}

}  // namespace

std::span<const MetricRow> metric_rows() { return kRows; }

std::string value_text(double value, std::string_view unit) {
  constexpr double kKilo = 1e3;
  if (unit == "%") return fmt::format("{:.1f} %", value);
  if (unit == "ns") {
    return value >= kKilo * kKilo ? fmt::format("{:.2f} ms", value / 1e6) : fmt::format("{:.1f} us", value / 1e3);
  }
  if (unit == "sectors" || unit == "warps" || unit == "threads") return fmt::format("{:.1f} {}", value, unit);
  constexpr std::array<const char*, 5> kPrefixes = {"", " thousand", " million", " billion", " trillion"};
  constexpr std::array<const char*, 5> kBytes = {" bytes", " kB", " MB", " GB", " TB"};
  std::size_t power = 0;
  while (std::fabs(value) >= kKilo && power + 1 < kPrefixes.size()) {
    value /= kKilo;
    ++power;
  }
  const std::string figure = power == 0 ? fmt::format("{:.0f}", value) : fmt::format("{:.2f}", value);
  return unit == "bytes" ? figure + kBytes[power] : figure + kPrefixes[power] + " " + std::string(unit);
}

std::vector<CounterReading> read_counters(const std::map<std::string, double>& values) {
  Values all = values;
  derive_all(all);
  std::vector<CounterReading> readings;
  for (const MetricRow& row : kRows) {
    const auto value = value_of(all, row.name);
    if (!value) continue;
    CounterReading reading;
    reading.row = &row;
    reading.value = *value;
    reading.is_reason =
        (row.side == Side::low && *value < row.limit) || (row.side == Side::high && *value >= row.limit);
    reading.sentence = fmt::format("{}: {}", row.phrase, value_text(*value, row.unit));
    readings.push_back(std::move(reading));
  }
  return readings;
}

std::vector<const CounterReading*> reasons(const std::vector<CounterReading>& readings, std::string_view kernel) {
  constexpr std::size_t kMost = 3;
  std::vector<const CounterReading*> full;
  std::vector<const CounterReading*> poor;
  std::vector<const CounterReading*> late;  // how well it fills the device
  const CounterReading* stall = nullptr;
  bool issues = false;  // the schedulers find work: then waiting warps cost nothing
  for (const CounterReading& reading : readings) {
    const std::string_view name = reading.row->name;
    if (name.starts_with("smsp__issue_active")) issues = !reading.is_reason && reading.value >= 60;
    if (!reading.is_reason) continue;
    if (is_stall(name)) {
      if (stall == nullptr || reading.value > stall->value) stall = &reading;
    } else if (is_full_unit(name)) {
      full.push_back(&reading);
    } else if (name.starts_with("sm__") && reading.row->side == Side::low) {
      if (!name.starts_with("sm__warps_active") || !is_matrix_kernel(kernel)) late.push_back(&reading);
    } else if (name.starts_with("smsp__issue_active")) {
      late.push_back(&reading);
    } else {
      poor.push_back(&reading);
    }
  }
  std::stable_sort(full.begin(), full.end(), [](const CounterReading* a, const CounterReading* b) {
    return a->value - a->row->limit > b->value - b->row->limit;
  });
  // A full unit bounds the kernel, unless the way in which it is used wastes it: that stands first.
  std::vector<const CounterReading*> all = poor;
  all.insert(all.end(), full.begin(), full.end());
  if (stall != nullptr && !issues && full.empty()) all.push_back(stall);
  if (full.empty()) all.insert(all.end(), late.begin(), late.end());
  if (all.size() > kMost) all.resize(kMost);
  return all;
}

}  // namespace accel
