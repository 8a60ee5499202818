// The repair of a slow data loader, by what it spends its time on. Part of dataloader_starvation.
#pragma once

#include <optional>

#include "diagnosis/loader_work.h"
#include "diagnosis/rule.h"

namespace accel {

enum class LoaderKind { none, single_process, multi_process, other };

struct LoaderFacts {
  LoaderKind kind = LoaderKind::none;
  LoaderPart part = LoaderPart::other;
  double load_ns = 0;  // host time in the loader per step
  double rest_ns = 0;  // the step without it
  int workers = 0;     // there are, as far as their turns tell; 0: not known
  Location place;      // the user's function that takes the time, when known
  // From sampled stacks: the share of that function's time in which it was not on a processor.
  std::optional<double> waiting;
};

inline constexpr int kMostWorkers = 16;

// How many workers keep up, at most kMostWorkers.
int workers_needed(const LoaderFacts& facts);

Action loader_action(const StepView& view, const LoaderFacts& facts);

// "decoding in load_image", "collating", ... for titles; empty when not known.
std::string loader_part_words(const LoaderFacts& facts);

}  // namespace accel
