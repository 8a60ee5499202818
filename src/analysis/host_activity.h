// Host activity: what the threads of the process do during the complete steps. Launching and waiting by thread, how
// long work waits between launch and start, and the stretches of the host that have a name of their own: collections
// of garbage, compilation, loading of device code, saving of state, the data loader, and stalls, in which a thread did
// not run although it had something to do.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/interval_set.h"
#include "trace/trace_store.h"

namespace accel {

enum class HostRole : std::uint8_t { main, autograd, launching, other };
std::string_view to_string(HostRole role);

// Sums over the complete steps.
struct HostThread {
  ThreadIndex thread;
  HostRole role = HostRole::other;
  std::int64_t ops_ns = 0;    // in ops that no other op encloses, calls included
  std::int64_t calls_ns = 0;  // in runtime and driver calls
  std::int64_t waits_ns = 0;  // of them: in calls that wait for the device
  std::uint64_t launches = 0;
  std::uint64_t records = 0;  // ops and calls
};

// One kind of host work on every thread.
struct HostPart {
  IntervalSet time;         // over the whole capture
  std::uint64_t count = 0;  // outermost slices that start in complete steps
  std::int64_t ns = 0;      // their time
  SliceId longest;          // of them
};

// Stretches of 1 ms or more in which the main thread, between two records that follow each other at once elsewhere, did
// nothing: something else had its core or the interpreter.
struct HostStalls {
  IntervalSet time;
  std::uint64_t count = 0;
  std::uint64_t places = 0;  // distinct pairs of records around them
  bool interpreter = false;  // they last whole multiples of the 5 ms after which Python hands its lock on
  std::int64_t longest_ns = 0;
  SliceId example;  // the record before the longest
};

struct HostActivity {
  std::uint32_t steps = 0;
  std::vector<HostThread> threads;   // main first, then by launches, then by records
  std::int64_t main_outside_ns = 0;  // main thread: outside every op and call
  HostPart garbage_collection;
  HostPart compilation;
  HostPart module_load;
  HostPart checkpoint;
  HostPart data_loading;
  HostStalls stalls;
  // From the end of a launch call to the start of its kernel on a device that had nothing else to do; null: no such.
  std::optional<std::int64_t> launch_latency_median_ns;
  std::optional<std::int64_t> launch_latency_p95_ns;
  // Work launched and not yet started, over the complete steps.
  std::optional<double> queue_depth_mean;
  std::uint64_t queue_depth_max = 0;
  std::optional<double> queue_empty_share;
};

}  // namespace accel
