// Call tree: annotation -> module -> op -> launch -> kernel, with Python frames where they were recorded, over the
// complete steps of a rank. Paths that are equal by kind and name are one node; each node has host and device time,
// self and total apart. Host time is clipped to the steps; device time is the sum of the durations of the device events
// that the steps launched, so streams that overlap count each. Constant after it is made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace_store.h"

namespace accel {

enum class CallKind : std::uint8_t {
  root,
  thread,
  annotation,
  module,
  frame,
  op,
  call,
  kernel,
  copy,
  set,
  overhead,
  rest
};
std::string_view to_string(CallKind kind);

inline constexpr std::uint8_t kNodeFolded = 1;      // library noise: views leave the node out unless asked for it
inline constexpr std::uint8_t kNodeWaits = 2;       // a call in which the host waits for the device
inline constexpr std::uint8_t kNodeMainThread = 4;  // the thread that runs the steps

struct CallNode {
  std::uint32_t parent = 0;  // a node before this one; the root is its own parent
  std::uint32_t name = 0;    // index into CallTree::names
  CallKind kind = CallKind::root;
  std::uint8_t flags = 0;
  std::uint64_t count = 0;  // slices that start, or device events launched, in a complete step; of rest: nodes summed
  std::int64_t host_self_ns = 0;
  std::int64_t host_total_ns = 0;
  std::int64_t device_self_ns = 0;  // only kernels, copies and sets, and the rest, have any
  std::int64_t device_total_ns = 0;
};

struct CallTree {
  std::vector<CallNode> nodes;  // empty without a complete step; else the root first, parents before their children
  std::vector<std::string> names;
  std::uint32_t steps = 0;           // complete steps that the times are summed over
  std::uint64_t nodes_summed = 0;    // nodes that went into rest nodes
  std::int64_t device_other_ns = 0;  // device time in no complete step
};

// The most nodes that a tree keeps: those with the largest share of host or of device time; below each kept node the
// others are summed into one node of kind rest.
inline constexpr std::size_t kCallTreeNodes = 6000;

}  // namespace accel
