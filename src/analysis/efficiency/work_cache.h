// The work of an op with given arguments, computed once for each distinct pair. One thread.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "analysis/efficiency/op_work.h"

namespace accel {

class WorkCache {
 public:
  struct Entry {
    OpWork work;
    double largest_elements = 0;  // of one tensor input
  };

  explicit WorkCache(const TraceStore& store) : store_(store), last_(store.op_args.size()) {}

  // Null for slices without recorded arguments.
  const Entry* of_slice(SliceId slice);
  ArgsId args_of(SliceId slice) const;

 private:
  struct Last {
    StringId name;
    const Entry* entry = nullptr;
  };

  const TraceStore& store_;
  std::vector<Last> last_;  // by ArgsId: nearly every argument list belongs to one op
  std::unordered_map<std::uint64_t, const Entry*> others_;
  std::deque<Entry> entries_;
};

}  // namespace accel
