// What a rank does in a mean step, and how one rank's step differs from its peers'. Private to the straggler analysis.
#pragma once

#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "fusion/straggler/straggler.h"

namespace accel::fusion {

struct RankProfile {
  struct Share {
    double ns = 0;
    double count = 0;
    double longest_ns = 0;
    std::string_view before;
  };
  using HostKey = std::tuple<std::string_view, SliceKind, IdleCause>;
  using KernelKey = std::pair<std::string_view, std::string_view>;  // name, shape

  std::size_t steps = 0;
  double host_ns = 0;     // own host time: waits left out
  double device_ns = 0;   // compute and exposed copies
  double memory_ns = 0;   // the copies
  double exposed_ns = 0;  // exposed communication
  std::map<HostKey, Share> host;
  std::map<KernelKey, Share> kernels;
};

// Mean over the given steps, complete ones alone. Views stay valid as long as the digest.
RankProfile profile_of(const RankDigest& digest, const std::vector<std::int64_t>& steps);

// What `own` has more of than the median of `peers`. `step_ns`: a mean step, against which an excess must count.
std::vector<LateCause> host_differences(const RankProfile& own, const std::vector<const RankProfile*>& peers,
                                        double step_ns);
std::vector<LateCause> device_differences(const RankProfile& own, const std::vector<const RankProfile*>& peers,
                                          double step_ns);

}  // namespace accel::fusion
