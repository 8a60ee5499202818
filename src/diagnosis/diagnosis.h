// The engine of the rules: runs them, orders findings by the step time that their action saves, makes the plan, the
// verdict and the health line. Pure.
#pragma once

#include <string>
#include <vector>

#include "diagnosis/rule.h"

namespace accel {

enum class BoundBy : std::uint8_t {
  data_loading,
  host,
  gpu_compute,
  cpu_compute,  // of a job without another device
  gpu_memory,
  communication,
  mixed,
  unknown
};
std::string_view to_string(BoundBy bound_by);

struct Verdict {
  BoundBy bound_by = BoundBy::unknown;
  std::string sentence;
  double confidence = 0;
};

struct HealthMeasure {
  std::string measure;          // kernel_share, copy_share, communication_share, host_share, idle_share
  std::optional<double> value;  // share of the undisturbed step
  double bound = 0;
  bool at_least = false;  // bound is a minimum (kernel share) or a maximum (the others)
  bool ok = false;
};

struct PlanStep {
  int order = 0;
  std::string finding_id;
  std::string rule;
  std::string title;
  std::optional<double> expected_step_ms;
  std::optional<double> expected_step_low_ms;
  std::optional<double> expected_step_high_ms;
  std::optional<double> cumulative_speedup;
};

struct Diagnosis {
  Verdict verdict;
  std::vector<HealthMeasure> health;
  std::vector<Finding> findings;
  std::vector<PlanStep> plan;
};

Diagnosis diagnose(const TraceStore& store, const AnalysisResults& results, const AnalysisOptions& options);

}  // namespace accel
