// The device work of the complete steps by the call that launched it, in the order of the launches of each thread, with
// sums that answer how much was launched in a stretch of a thread's time. Pure; constant after it is made.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/event_index.h"
#include "analysis/step_segmentation.h"
#include "trace/trace_store.h"

namespace accel {

struct LaunchedWork {
  std::int64_t time_ns = 0;  // when the launching call starts
  SliceId call;
  std::int64_t ns = 0;  // sum of durations
};

// Work in order of time.
class WorkOverTime {
 public:
  void add(const LaunchedWork& work) { list_.push_back(work); }
  void finish();
  std::span<const LaunchedWork> list() const& { return list_; }
  std::span<const LaunchedWork> list() && = delete;
  std::int64_t between(std::int64_t from_ns, std::int64_t to_ns) const;

 private:
  std::int64_t before(std::int64_t time_ns) const;
  std::vector<LaunchedWork> list_;
  std::vector<std::int64_t> sums_;
};

// By thread; launches in no complete step are left out.
std::vector<WorkOverTime> launched_work(const TraceStore& store, const StepSegmentation& segmentation);

// The device work of backward nodes at the time at which the op that made the node ran on `forward`; empty when the
// recording has no sequence numbers. Threads number themselves in the order in which they first record an op: the
// forward thread is the lowest number that backward nodes name.
WorkOverTime backward_work(const TraceStore& store, const std::vector<WorkOverTime>& work, ThreadIndex forward);

}  // namespace accel
