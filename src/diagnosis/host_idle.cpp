#include "diagnosis/host_idle.h"

#include <algorithm>
#include <array>

#include "analysis/device_timeline.h"
#include "analysis/idle_attribution.h"
#include "analysis/step_segmentation.h"
#include "diagnosis/ledger.h"

namespace accel {
namespace {

constexpr std::array kHostCauses{IdleCause::host_compute, IdleCause::launch_latency};

const DeviceTimeline::Device* timeline_of(const AnalysisResults& results, std::int64_t device) {
  if (results.device_timeline == nullptr) return nullptr;
  for (const DeviceTimeline::Device& candidate : results.device_timeline->devices) {
    if (candidate.device == device) return &candidate;
  }
  return nullptr;
}

}  // namespace

double HostIdle::inside_ns(const IntervalSet& host) const {
  return windows > 0 ? static_cast<double>(idle.intersected(host).total_ns()) / windows : 0;
}

HostIdle measure_host_idle(const TraceStore&, const AnalysisResults& results, const StepView& view) {
  HostIdle measured;
  const DeviceTimeline::Device* timeline = timeline_of(results, view.device);
  if (timeline == nullptr || view.windows.empty()) return measured;
  measured.idle = IntervalSet::from_sorted(view.windows).minus(timeline->busy);
  measured.windows = static_cast<double>(view.windows.size());
  double recorded = 0, left = 0;
  for (const IdleCause cause : kHostCauses) {
    recorded += view.measured.idle(cause);
    left += view.undisturbed.idle(cause);
  }
  if (recorded > 0) measured.undisturbed_share = std::clamp(left / recorded, 0.0, 1.0);
  return measured;
}

double claim_host_idle(Claim& claim, const StepView& view, std::span<const Finding> earlier, double ns) {
  double available = 0;
  for (const IdleCause cause : kHostCauses) available += idle_left_ns(view, earlier, cause);
  const double put = std::min(ns, available);
  if (put <= 0) return 0;
  for (const IdleCause cause : kHostCauses) claim.idle(cause) += put * idle_left_ns(view, earlier, cause) / available;
  return put;
}

double claim_idle_of_any_cause(Claim& claim, const StepView& view, std::span<const Finding> earlier, double ns) {
  double put = claim_host_idle(claim, view, earlier, ns);
  for (const IdleCause cause : {IdleCause::synchronization, IdleCause::memory_allocation}) {
    const double part = std::min(ns - put, idle_left_ns(view, earlier, cause));
    claim.idle(cause) += part;
    put += part;
  }
  return put;
}

Claim excess_of_steps(const TraceStore&, const AnalysisResults& results, const StepView& view,
                      std::span<const std::uint32_t> steps) {
  Claim excess;
  const DeviceTimeline::Device* timeline = timeline_of(results, view.device);
  const auto windows = results.step_segmentation->windows_of(view.device);
  const IdleOfDevice* idle = nullptr;
  for (const IdleOfDevice& candidate : results.idle_attribution->devices) {
    if (candidate.device == view.device) idle = &candidate;
  }
  if (timeline == nullptr || idle == nullptr || idle->by_step.size() != windows.size()) return excess;
  Claim own, others;
  double own_count = 0, other_count = 0;
  for (std::size_t k = 0; k < windows.size(); ++k) {
    const bool mine = std::binary_search(steps.begin(), steps.end(), windows[k].step);
    Claim& sum = mine ? own : others;
    (mine ? own_count : other_count) += 1;
    for (std::size_t c = 0; c < kIdleCauseCount; ++c) sum.idle_ns[c] += static_cast<double>(idle->by_step[k][c]);
    sum.compute_ns += static_cast<double>(timeline->compute.clipped(windows[k].time).total_ns());
    sum.copy_ns += static_cast<double>(timeline->memory_exposed.clipped(windows[k].time).total_ns());
    sum.communication_ns += static_cast<double>(timeline->communication_exposed.clipped(windows[k].time).total_ns());
  }
  if (own_count == 0 || other_count == 0) return excess;
  const double share = own_count / (own_count + other_count);
  const auto more = [&](double mine, double rest) {
    return std::max(0.0, mine / own_count - rest / other_count) * share;
  };
  for (std::size_t c = 0; c < kIdleCauseCount; ++c) excess.idle_ns[c] = more(own.idle_ns[c], others.idle_ns[c]);
  excess.compute_ns = more(own.compute_ns, others.compute_ns);
  excess.copy_ns = more(own.copy_ns, others.copy_ns);
  excess.communication_ns = more(own.communication_ns, others.communication_ns);
  return excess;
}

void cut_to_left(Claim& claim, const StepView& view, std::span<const Finding> earlier) {
  for (std::size_t c = 0; c < kIdleCauseCount; ++c)
    claim.idle_ns[c] = std::min(claim.idle_ns[c], idle_left_ns(view, earlier, static_cast<IdleCause>(c)));
  double compute = view.undisturbed.compute_ns, copy = view.undisturbed.memory_exposed_ns,
         communication = view.undisturbed.communication_exposed_ns;
  for (const Finding& finding : earlier) {
    compute -= finding.claim.compute_ns;
    copy -= finding.claim.copy_ns;
    communication -= finding.claim.communication_ns;
  }
  claim.compute_ns = std::min(claim.compute_ns, std::max(0.0, compute));
  claim.copy_ns = std::min(claim.copy_ns, std::max(0.0, copy));
  claim.communication_ns = std::min(claim.communication_ns, std::max(0.0, communication));
}

}  // namespace accel
