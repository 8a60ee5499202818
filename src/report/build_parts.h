// The parts of build_document(), one function per group of keys. Internal to src/report.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/step_segmentation.h"
#include "analysis/time_breakdown.h"
#include "report/build_document.h"
#include "report/plain_text.h"

namespace accel::report {

// What the parts share while a Document is made.
struct Build {
  const TraceStore& store;
  const AnalysisResults& results;
  const Diagnosis& diagnosis;
  const BuildOptions& options;
  Document document;
  std::map<std::string, std::string> reasons;  // why a key is null, by path
  std::uint64_t cut_rows = 0;                  // rows left out of capped lists
  std::string cut_lists;                       // their keys

  std::string text(StringId id) const { return valid_utf8(store.text(id)); }

  // Cuts `list` to `limit` rows unless everything is asked for.
  template <typename T>
  void cap(std::vector<T>& list, std::size_t limit, const char* key) {
    if (options.full || list.size() <= limit) return;
    cut(list.size() - limit, key);
    list.resize(limit);
  }
  // How many of `size` rows are shown; the rest counts as cut.
  std::size_t shown(std::size_t size, std::size_t limit, const char* key) {
    if (options.full || size <= limit) return size;
    cut(size - limit, key);
    return limit;
  }

 private:
  void cut(std::size_t rows, const char* key) {
    cut_rows += rows;
    if (cut_lists.find(key) != std::string::npos) return;
    if (!cut_lists.empty()) cut_lists += ", ";
    cut_lists += key;
  }
};

void build_steps(Build& build);
void build_step_time(Build& build);
void build_throughput(Build& build);
void build_breakdown(Build& build);
void build_distortion(Build& build);
void build_host(Build& build);
void build_operators(Build& build);
void build_kernels(Build& build);
void build_what_if(Build& build);
void build_memory(Build& build);
void build_op_kernels(Build& build);
void build_scopes(Build& build);
void build_run(Build& build);
void build_counters(Build& build);

// The element types in recorded lists of input types; null where there are none.
Text joined_types(const Build& build, std::span<const StringId> lists);

// Parts that a report of one rank and one of a job have in common.
void fill_spread(StepTime& step_time, std::vector<std::int64_t> durations);
// Sums over `divisor` windows to the mean window, in ns, with parts that add up.
TimeParts parts_entry(const accel::TimeParts& sums, std::int64_t divisor);
// The breakdown of each device, and the mean over all of them: devices with different numbers of windows weigh the
// same.
class DeviceMeans {
 public:
  // Parts are sums over `count` windows of `window`; a device without any has no row.
  void add(Document& document, const std::optional<int>& rank, std::int64_t device, PacedBy window,
           const accel::TimeParts& measured, const accel::TimeParts& undisturbed, std::int64_t count);
  // Fills the means, and how busy the devices are.
  void finish(Document& document) const;

 private:
  accel::TimeParts measured_;  // in picoseconds
  accel::TimeParts undisturbed_;
  std::int64_t devices_ = 0;
};
void add_findings(Document& document, const Diagnosis& diagnosis);
void add_note(Document& document, const accel::Note& note);

Location location_entry(const accel::Location& location);
void build_efficiency(Build& build);
void add_kernel_efficiency(const Build& build, StringId name, Kernel& entry);

// Milliseconds and microseconds to the nanosecond, so that the printed decimals are exact.
inline double ms_of(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }
inline double ms_of(double ns) { return std::round(ns) / 1e6; }
inline double us_of(double ns) { return std::round(ns) / 1e3; }

// A figure from elsewhere: null instead of NaN and Infinity, and no digits beyond the millionth.
inline Number number(double value) {
  if (!std::isfinite(value)) return std::nullopt;
  return std::abs(value) < 1e12 ? std::round(value * 1e6) / 1e6 : value;
}
inline Number number(const std::optional<double>& value) { return value ? number(*value) : std::nullopt; }
inline double number_or(double value, double otherwise) { return number(value).value_or(otherwise); }

}  // namespace accel::report
