// The idle time of the diagnosed device as the host rules need it: where it lies, how much of it falls into stretches
// of the host, and what single steps have more of than the others. Made once per diagnosis, as part of Facts.
#pragma once

#include <span>
#include <vector>

#include "base/interval_set.h"
#include "diagnosis/rule.h"
#include "diagnosis/step_view.h"

namespace accel {

struct HostIdle {
  IntervalSet idle;  // of the device, inside the windows of complete steps, as recorded
  double windows = 0;
  // What of the recorded idle time of host work and launching is left without the recording.
  double undisturbed_share = 1;

  // Recorded ns per step of idle inside these stretches of the host.
  double inside_ns(const IntervalSet& host) const;
};

HostIdle measure_host_idle(const TraceStore& store, const AnalysisResults& results, const StepView& view);

// Puts up to `ns` on host_compute and launch_latency, as far as earlier findings have left of both. Returns what it
// put.
double claim_host_idle(Claim& claim, const StepView& view, std::span<const Finding> earlier, double ns);

// The same for a stretch of the host that also waits, allocates and launches (compiling, searching for an algorithm):
// what is more than that goes on synchronization and memory_allocation.
double claim_idle_of_any_cause(Claim& claim, const StepView& view, std::span<const Finding> earlier, double ns);

// What the windows of `steps` (ascending indices into StepSegmentation::steps) have more than the mean of the others,
// by part, as a mean over all windows: what would be won if they were like the others. No negative parts.
Claim excess_of_steps(const TraceStore& store, const AnalysisResults& results, const StepView& view,
                      std::span<const std::uint32_t> steps);

// Cuts every part of the claim to what earlier findings have left of it.
void cut_to_left(Claim& claim, const StepView& view, std::span<const Finding> earlier);

}  // namespace accel
