// Host work that is plainly not launching: stretches of the device's idle time in which no launching thread began or
// ended an op or a call, because a CPU op computed or Python (or nothing recorded) ran. Launch-bound code makes a
// record every few microseconds; such a stretch has none for 200 us or more. Waits, copies, allocator calls, the data
// loader and the recorder's own rows are other causes and left out. The time is that of the undisturbed job: Python
// frames are records too, hundreds of them may lie in one stretch, and the host may have been slow in that step.
#pragma once

#include <cstdint>
#include <vector>

#include "base/interval_set.h"
#include "diagnosis/step_view.h"
#include "trace/trace_store.h"

namespace accel {

struct HostWorkGroup {
  StringId name;  // CPU op, innermost Python frame or user range; empty string: nothing recorded but the step
  SliceKind kind = SliceKind::other;
  SliceId example;  // the longest stretch's slice; invalid when nothing encloses it
  StringId before;  // for stretches outside ops: what ended last and what began next
  StringId after;
  double ns_per_step = 0;   // idle device time, less what the recording made longer there
  std::uint64_t count = 0;  // stretches in all windows
  std::int64_t longest_ns = 0;
};

struct HostWork {
  std::vector<HostWorkGroup> groups;  // largest first
  double ns_per_step = 0;             // their sum
};

inline constexpr std::int64_t kSilentStretchNs = 200'000;
// Stalls in fewer places are work of those places.
inline constexpr std::uint64_t kStallPlaces = 4;

// `other_causes`: when models were compiled, and the thread did not get to run.
HostWork find_host_work(const TraceStore& store, const AnalysisResults& results, const StepView& view,
                        const IntervalSet& other_causes);

}  // namespace accel
