// Why some steps are slower than the others: the part of the step that grows most, in words, and the host's place where
// that is recorded. Shared by the rules about the history of the steps. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "diagnosis/rule.h"

namespace accel {

struct SlowCause {
  std::string words;          // a clause: "the device waits for data"
  bool device_works = false;  // more than half of the excess is work of the device
  double ns = 0;              // of the excess, that part
  std::string name;           // of the host work; empty: none, or nothing recorded
  Location location;
  SliceId example;
};

// `excess` is what `steps` (ascending indices into StepSegmentation::steps) have more than the others.
SlowCause cause_of_excess(const DiagnosisInput& input, const Claim& excess, std::span<const std::uint32_t> steps);

// Cuts the claim of slow steps to what the replay without them is shorter by: a step in which the host was slow
// everywhere is as long as the others without the recording.
void cut_to_other_steps(Claim& claim, const DiagnosisInput& input, std::span<const std::uint32_t> steps);

// Fills the gain with the replay of the other steps alone, where there is one.
void set_gain_of_other_steps(Finding& finding, const DiagnosisInput& input, std::span<const std::uint32_t> steps);

// A program that only runs a model has no training step to call.
std::string as_calls_of_a_model(std::string command);

}  // namespace accel
