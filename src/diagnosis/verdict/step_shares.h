// What holds the step up, by shares of it: what a verdict is made from.
#pragma once

namespace accel {

// Shares of the step by what holds it up; they sum to 1.
struct StepShares {
  double loader = 0;     // idle while data are loaded
  double copies_in = 0;  // exposed copies to the device, and idle under their calls
  double host = 0;  // idle while the host launches, computes, waits, allocates, collects; exposed copies to the host
  double copies_out = 0;  // of host: those copies
  double communication = 0;
  double compute = 0;
  double memory = 0;  // exposed copies and sets on the device
  double other = 0;   // idle of unknown cause

  double data() const { return loader + copies_in; }
};

}  // namespace accel
