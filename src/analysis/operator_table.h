// Operators: self and total CPU and device time per name, as torch's key_averages computes them (its 14 rules), without
// torch's double count of device time under overhead rows. Rows come in a fixed order: self device time, then self CPU
// time, then the order in which names first appear.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace_store.h"

namespace accel {

struct OperatorRow {
  StringId name;  // ProfilerStep#N is folded into ProfilerStep*
  ArgsId args;    // set in by_shape rows alone (dims only count)
  SliceKind kind = SliceKind::op;
  std::uint64_t count = 0;
  std::int64_t self_cpu_ns = 0;
  std::int64_t cpu_ns = 0;
  std::int64_t self_device_ns = 0;
  std::int64_t device_ns = 0;
};

struct OperatorTable {
  std::vector<OperatorRow> by_name;
  std::vector<OperatorRow> by_shape;  // key: name and Input Dims
  StringId profiler_step_name;        // id of "ProfilerStep*" is not in the pool: rows with this id mean it
};

}  // namespace accel
