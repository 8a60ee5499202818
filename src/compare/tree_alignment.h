// Two call trees laid over each other: a node is the same in both by its place (kind, what is around it, which of its
// kind there) before its name counts, since numbers of modules, lines of functions and names of kernels change with a
// release. The difference of host and of device time is split over the nodes by their self times and adds up exactly.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/call_tree/call_tree.h"
#include "compare/comparison.h"

namespace accel::compare {

struct TreeChange {
  std::vector<std::string> path;  // names from the thread to the node, of AFTER where it has them
  CallKind kind = CallKind::root;
  Status status = Status::both;
  std::string before_name;                                 // where it is another one; else empty
  std::int64_t before_host_ns = 0, after_host_ns = 0;      // self, per step
  std::int64_t before_device_ns = 0, after_device_ns = 0;  // self, per step: sum of durations
  double before_count = 0, after_count = 0;                // per step

  std::int64_t host_delta_ns() const { return after_host_ns - before_host_ns; }
  std::int64_t device_delta_ns() const { return after_device_ns - before_device_ns; }
};

struct TreeSplit {
  std::int64_t host_delta_ns = 0;    // of all threads, per step; rows and rest add up to it
  std::int64_t device_delta_ns = 0;  // sum of durations, likewise
  std::vector<TreeChange> rows;      // those that differ, largest difference first
  std::int64_t host_rest_ns = 0;     // rounding
  std::int64_t device_rest_ns = 0;
  std::uint32_t same = 0, renamed = 0, appeared = 0, vanished = 0;  // nodes
  bool without_frames = false;  // one run has no Python frames: those of the other were left out
};

// Both with nodes. The first `named` rows get a path: those of a deep tree are long.
TreeSplit compare_trees(const CallTree& before, const CallTree& after, std::size_t named);

}  // namespace accel::compare
