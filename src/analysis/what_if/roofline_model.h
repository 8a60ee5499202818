// What kernels would take at the efficiency that others of the same capture reach: each kernel has a place under the
// roofline; of those that the same resource bounds, the better ones say what is within reach. Internal to what_if.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "analysis/efficiency/efficiency.h"
#include "analysis/what_if/transform.h"

namespace accel {

class RooflineModel {
 public:
  explicit RooflineModel(const Efficiency& efficiency);

  // What remains of the time of a kernel: 1 where its place is not known or no other kernel does better.
  double factor(StringId kernel, Outcome outcome) const;

 private:
  const Efficiency& efficiency_;
  struct Other {
    double share = 0;  // of the roof
    double ns = 0;
    std::uint32_t kernel = 0;
  };
  std::map<RoofBound, std::vector<Other>> others_;  // by rising share
};

}  // namespace accel
