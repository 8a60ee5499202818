// Host and device time by module, by annotation and by Python frame, over the complete steps of a rank. In every table
// `self` is what no other row of the same table encloses more closely and `total` is all between the row's begin and
// end, a recursion once. Frames of libraries count as the own time of the user's frame that called them, and have rows
// of their own. Device time is the sum of the durations of what was launched inside; work that the autograd thread
// launches belongs to the ranges that are open on the main thread, which waits for it. Constant after it is made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace_store.h"

namespace accel {

struct ScopeRow {
  std::string name;         // without addresses of objects
  std::int32_t inside = 0;  // row of the same table around every call of it; -1 = none, or several
  bool library = false;     // a frame of a library
  std::uint64_t count = 0;  // calls that start in a complete step
  std::int64_t host_self_ns = 0;
  std::int64_t host_ns = 0;
  std::int64_t device_self_ns = 0;
  std::int64_t device_ns = 0;
  std::int64_t backward_self_ns = 0;    // of backward_device_ns, where no closer row encloses the op
  std::int64_t backward_device_ns = 0;  // launched by the backward nodes of the ops inside
  std::vector<StringId> types;          // input type lists of the ops whose device work is its own
};

struct ScopeTables {
  std::uint32_t steps = 0;            // complete steps that the sums are over
  bool backward_known = false;        // backward nodes name the ops that made them
  std::vector<ScopeRow> modules;      // largest share of host or device time first
  std::vector<ScopeRow> annotations;  // marks of steps left out
  std::vector<ScopeRow> frames;
};

}  // namespace accel
