#include "diagnosis/replayed_gains.h"

#include <algorithm>

namespace accel {

void replay_gains(const Predictor& predictor, std::vector<Finding>& findings) {
  if (!predictor.usable()) return;
  for (Finding& finding : findings) {
    if (finding.remedies.empty()) continue;
    const Prediction prediction = predictor.predict(finding.remedies);
    finding.gain.step_ms = prediction.step_ns / 1e6;
    finding.gain.step_low_ms = prediction.low_ns / 1e6;
    finding.gain.step_high_ms = prediction.high_ns / 1e6;
    finding.gain.basis = GainBasis::replay;
    // The time at stake is hidden behind something else: alone, the change brings nothing.
    const double saved_ns = predictor.base_ns() - prediction.step_ns;
    if (saved_ns < kWarningShare * predictor.base_ns() && finding.prerequisite_of.empty())
      finding.severity = FindingSeverity::info;
    if (finding.gain.max_possible_speedup && prediction.low_ns > 0) {
      finding.gain.max_possible_speedup =
          std::max(*finding.gain.max_possible_speedup, predictor.base_ns() / prediction.low_ns);
    }
  }
}

}  // namespace accel
