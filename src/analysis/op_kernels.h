// Which device work each op brought about: kernels, copies and sets of the complete steps by the op that launched them
// and its input shapes. What two runs are compared by: the same op on the same shapes may run another kernel.
// Constant after it is made.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace_store.h"

namespace accel {

struct OpKernelRow {
  StringId op;    // innermost op (else range) around the launch; empty = none, as for the replay of a graph
  StringId dims;  // its input dimensions as recorded; empty = not recorded
  StringId types;
  StringId work;  // name of the kernel, copy or set
  std::uint64_t count = 0;
  std::int64_t ns = 0;  // sum of durations
};

struct OpKernels {
  std::uint32_t steps = 0;        // complete steps that the sums are over
  std::vector<OpKernelRow> rows;  // most time first
};

}  // namespace accel
