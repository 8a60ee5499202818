// Hardware counters that a person measured on the same job (ncu) join the diagnosis: for the kernels that take most of
// the step, why they are not faster, as a finding of its own (kernel_limits). Pure.
#pragma once

#include <vector>

#include "diagnosis/diagnosis.h"
#include "diagnosis/kernel_counters/counter_table.h"

namespace accel {

struct CounterMatch {
  std::size_t kernels = 0;  // of the capture's heavy kernels
  std::size_t matched = 0;  // of them, with counters
};

// Adds findings behind those that save time. What of the heavy kernels has counters.
CounterMatch add_counter_reasons(Diagnosis& diagnosis, const TraceStore& store, const AnalysisResults& results,
                                 const std::vector<KernelCounters>& counters);

}  // namespace accel
