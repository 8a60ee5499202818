// How much a step learns from: samples and tokens, as far as the recorded shapes say so without doubt. The input of a
// step is the first tensor that it copies to the device, or what its first convolution or embedding reads where nothing
// is copied; other ops have to confirm what its dimensions mean. Pure.
#pragma once

#include <optional>
#include <string>

#include "trace/trace_store.h"

namespace accel {

struct StepInput {
  std::optional<double> samples;  // mean per complete step, of this rank
  std::optional<double> tokens;
  std::string samples_basis;  // what the figure rests on, or why there is none
  std::string tokens_basis;
  SliceId example;  // the op that shows the input
};

struct AnalysisResults;

// Needs event_index and step_segmentation.
StepInput find_step_input(const TraceStore& store, const AnalysisResults& results);

}  // namespace accel
