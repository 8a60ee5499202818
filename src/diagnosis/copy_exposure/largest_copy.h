// Where the largest copy of a group was made: what a finding about copies points at. Pure.
#pragma once

#include "diagnosis/copy_exposure.h"
#include "diagnosis/rule.h"

namespace accel {

// Adds the op, else the call, that launched it; nothing without a launch.
void add_place_of_largest(Finding& finding, const TraceStore& store, const StepView& view, const CopyGroup& copies);

}  // namespace accel
