// What the ranges of one name prefix do in the complete steps: their host time, what they launch, and the device work
// that comes of it. "Optimizer.step#", "Optimizer.zero_grad#".
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "base/interval_set.h"
#include "diagnosis/step_view.h"
#include "trace/trace_store.h"

namespace accel {

struct RangeWork {
  IntervalSet time;  // outermost ranges that start in complete steps
  SliceId longest;
  bool closure = false;                   // a backward pass lies inside: only what follows it is counted
  double count = 0;                       // ranges, per step
  double host_ns = 0;                     // per step
  double launches = 0;                    // device events launched inside, per step
  double device_ns = 0;                   // union of these on the diagnosed device, per step
  std::map<StringId, std::uint64_t> ops;  // ops that launch, by name: device events of all steps
};

RangeWork measure_ranges(const TraceStore& store, const StepView& view, std::string_view prefix);

}  // namespace accel
