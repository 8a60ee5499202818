// Predictor: what the undisturbed step would take with some transformations applied, by replay, with a band: at the
// lower end the recording cost as much as it may have and the change does all it can, at the upper end the opposite.
// Holds the undisturbed graphs; const after construction, so that any thread may ask.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "analysis/analysis.h"
#include "analysis/step_graph/step_graph.h"
#include "analysis/what_if/transform.h"

namespace accel {

struct Prediction {
  double step_ns = 0;
  double low_ns = 0;
  double high_ns = 0;
};

class Predictor {
 public:
  // The results outlive it. Needs event_index, step_graph and distortion; usable() is false without complete steps.
  Predictor(const TraceStore& store, const AnalysisResults& results);

  bool usable() const { return base_ns_ > 0; }
  double base_ns() const { return base_ns_; }  // the undisturbed step
  Prediction predict(std::span<const Transformation> transformations) const;
  // The step if these (ascending indices into StepSegmentation::steps) were like the others; nothing where no other is
  // in the graph.
  std::optional<Prediction> predict_without_steps(std::span<const std::uint32_t> steps) const;
  // How much longer everything on the device, or on the host, could take before the step does.
  double device_slack_ns() const;
  double host_slack_ns() const;

 private:
  template <typename Step>
  Prediction with_band(Step&& step, double widest) const;
  double slack_ns(bool device) const;

  TransformContext context_;
  StepGraph likely_;  // without what the recording cost
  StepGraph quick_;   // ... had it cost more
  StepGraph slow_;    // ... had it cost less
  double base_ns_ = 0;
  double correction_ = 1;    // undisturbed step over its own replay
  double replay_error_ = 0;  // what the steady replay differs from the recorded step by, at least 3 %
  double low_share_ = 1;     // what is unsure about any step
  double high_share_ = 1;
};

}  // namespace accel
