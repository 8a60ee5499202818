// What of one run a comparison is about: plain values per step, in ns, independent of where they came from (a trace, a
// report, a baseline). Filled by the report layer; constant from then on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace accel::compare {

struct Part {
  std::string name;  // compute, copies, communication, idle.data_loading, ...
  std::int64_t ns = 0;
};

// One form of the mean step, whole and in parts that add up to it exactly.
struct StepForm {
  std::int64_t step_ns = 0;
  std::vector<Part> parts;
};

// Device work of one op on one shape, per step.
struct Work {
  std::string op;  // empty: without an op
  std::string dims;
  std::string types;
  std::string name;  // kernel, copy or set
  double count = 0;
  double ns = 0;
};

// Device work, or host time, of one module or range and of no closer one, per step.
struct ScopeWork {
  std::string name;  // the same in both runs: see module_paths()
  double count = 0;
  double ns = 0;
};

struct RunFigures {
  std::vector<std::int64_t> steps_ns;  // complete steps, one by one
  std::optional<StepForm> measured;
  std::optional<StepForm> undisturbed;
  std::optional<double> undisturbed_low_ns;
  std::optional<double> undisturbed_high_ns;
  std::vector<Work> work;
  std::vector<ScopeWork> modules;  // empty: not recorded
  std::vector<ScopeWork> annotations;
  std::optional<std::int64_t> host_step_ns;  // as recorded
  std::vector<ScopeWork> host_modules;
  std::vector<ScopeWork> host_annotations;
  std::map<std::string, std::string> environment;  // versions, options, devices
  std::string step_source;
  bool recording_cost_known = true;
};

}  // namespace accel::compare
