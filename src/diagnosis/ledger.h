// The ledger of a step's time: what of it findings have claimed, part by part, so that findings that share time never
// promise more than exists. One per diagnosis.
#pragma once

#include <span>

#include "diagnosis/rule.h"
#include "diagnosis/step_view.h"

namespace accel {

class Ledger {
 public:
  explicit Ledger(const StepView& view);

  // Cuts the claim to what is left of each part and takes that away. Returns the ns per step granted.
  double grant(Claim& claim);
  double left(IdleCause cause) const { return left_.idle(cause); }
  const Claim& left() const { return left_; }

 private:
  Claim left_;
};

// What findings so far have left of the step's idle time of one cause.
double idle_left_ns(const StepView& view, std::span<const Finding> earlier, IdleCause cause);

}  // namespace accel
