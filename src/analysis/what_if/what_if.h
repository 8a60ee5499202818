// What-if: how well replaying the recorded step reproduces it, the critical path of the undisturbed step, and what the
// step would be with the changes that the caller asks about.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/transformation.h"
#include "analysis/what_if/critical_path.h"
#include "analysis/what_if/predictor.h"
#include "analysis/what_if/slack.h"

namespace accel {

struct WhatIf {
  bool usable = false;           // there are complete steps
  double replayed_step_ns = 0;   // as recorded, from the beginning of the window
  double replay_error = 0;       // |replayed / recorded - 1|
  double steady_difference = 0;  // of the steady pace that predictions start from: replayed / recorded - 1
  double unexplained_share = 0;  // of the replayed path, as recorded
  CriticalPath path;             // of the undisturbed step
  std::vector<SlackPart> slack;  // of what is off it
  // How much longer the work of the device, or of the host, could take before the step does.
  double device_slack_ns = 0;
  double host_slack_ns = 0;
  double base_ns = 0;  // the undisturbed step
  struct Answer {
    std::vector<Transformation> transformations;
    Prediction prediction;
    bool named = true;  // every change names something that is in the steps; if not, there is no prediction
  };
  std::vector<Answer> answers;
};

}  // namespace accel
