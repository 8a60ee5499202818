#include "diagnosis/ledger.h"

#include <algorithm>
#include <numeric>

namespace accel {
namespace {

double take(double& wanted, double& left) {
  wanted = std::clamp(wanted, 0.0, std::max(0.0, left));
  left -= wanted;
  return wanted;
}

}  // namespace

double Claim::total_ns() const {
  return std::accumulate(idle_ns.begin(), idle_ns.end(), 0.0) + compute_ns + copy_ns + communication_ns;
}

Ledger::Ledger(const StepView& view) {
  left_.idle_ns = view.undisturbed.idle_by_cause;
  left_.compute_ns = view.undisturbed.compute_ns;
  left_.copy_ns = view.undisturbed.memory_exposed_ns;
  left_.communication_ns = view.undisturbed.communication_exposed_ns;
}

double Ledger::grant(Claim& claim) {
  double granted = 0;
  for (std::size_t i = 0; i < kIdleCauseCount; ++i) granted += take(claim.idle_ns[i], left_.idle_ns[i]);
  granted += take(claim.compute_ns, left_.compute_ns);
  granted += take(claim.copy_ns, left_.copy_ns);
  granted += take(claim.communication_ns, left_.communication_ns);
  return granted;
}

double idle_left_ns(const StepView& view, std::span<const Finding> earlier, IdleCause cause) {
  double left = view.undisturbed.idle(cause);
  for (const Finding& finding : earlier) left -= finding.claim.idle(cause);
  return std::max(0.0, left);
}

}  // namespace accel
