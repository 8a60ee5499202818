// The parts that every finding has in common: cost and severity, evidence with its row, the gain as a model of the step
// less what is saved, and the doubts that lower its confidence.
#pragma once

#include <string>

#include "diagnosis/rule.h"
#include "diagnosis/step_view.h"

namespace accel {

// A finding of `rule` with cost, share and severity set and the confidence of undoubted data.
Finding new_finding(const StepView& view, std::string_view rule, double cost_ns);

void add_evidence(Finding& finding, std::string text, double value, std::string_view unit, SliceId slice = {});
void add_evidence(Finding& finding, std::string text, double value, std::string_view unit, DeviceEventId event);

// Everything in `most_saved_ns` goes away at best and `least_saved_ns` at worst, on top of what is unsure about the
// step itself; the best case is what is expected, unless the rule sets step_ms otherwise afterwards. most_saved_ns is
// also the bound of max_possible_speedup. The claim must have been set.
void set_gain(Finding& finding, const StepView& view, double most_saved_ns, double least_saved_ns);
// An upper bound alone: no expectation.
void set_gain_bound(Finding& finding, const StepView& view, double most_saved_ns);

// Lowers the confidence by the view's doubts and states them as evidence. Last, so that they stand below the facts.
void add_doubts(Finding& finding, const StepView& view);

}  // namespace accel
