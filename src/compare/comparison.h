// Two runs side by side: how the step changed and whether that is more than noise, and the difference split exactly
// over the parts of the step, over device work by name and over ops. Pure: from RunFigures to values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compare/run_figures.h"
#include "compare/step_noise.h"

namespace accel::compare {

enum class Verdict : std::uint8_t { unknown, same, faster, slower };
std::string_view to_string(Verdict verdict);
enum class Status : std::uint8_t { both, appeared, vanished };
std::string_view to_string(Status status);

struct Change {
  std::string name;
  Status status = Status::both;
  std::int64_t before_ns = 0;  // per step
  std::int64_t after_ns = 0;
  double before_count = 0;
  double after_count = 0;
  std::int64_t delta_ns() const { return after_ns - before_ns; }
};

struct StepChange {
  std::int64_t before_ns = 0;
  std::int64_t after_ns = 0;
  std::optional<Interval> delta_ns;  // of the difference; nothing when the noise is not known
  Verdict verdict = Verdict::unknown;
  std::vector<Change> parts;  // their differences add up to that of the step, to the ns
  std::int64_t delta() const { return after_ns - before_ns; }
};

// An op on the same shapes that runs other kernels than before.
struct Implementation {
  std::string op;
  std::string dims;
  std::string before_types;  // of its inputs; other types are a reason for other kernels
  std::string after_types;
  std::vector<std::string> before;
  std::vector<std::string> after;
  std::int64_t before_ns = 0;
  std::int64_t after_ns = 0;
};

// A difference over rows: of the time in which the device worked, where `rest` is streams that overlap, the edges of
// the window, work of no step; or of the host's step, where it is host time in no row, less that of other threads. Rows
// and rest add up to it exactly.
struct Split {
  std::vector<Change> rows;  // largest difference first
  std::int64_t rest_ns = 0;
};

struct Difference {
  std::string key;
  std::string before;
  std::string after;
  std::string meaning;  // what it may explain
};

struct Comparison {
  std::optional<StepChange> measured;
  std::optional<StepChange> undisturbed;
  std::int64_t busy_delta_ns = 0;  // measured: time in which the device worked
  Split work;                      // by name of the kernel, copy or set
  Split ops;
  Split modules;  // both without rows where a run does not record them
  Split annotations;
  std::int64_t host_delta_ns = 0;  // measured: the host's step
  Split host_modules;
  Split host_annotations;
  std::vector<Implementation> implementations;  // largest difference first
  std::vector<Difference> environment;
  std::vector<std::string> not_comparable;  // sentences
};

Comparison compare_runs(const RunFigures& before, const RunFigures& after);

}  // namespace accel::compare
