// Compares what the fusion says of a simulated job with what was wrong with it.
#pragma once

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "fusion/job.h"
#include "support/simulated_job.h"

namespace accel::testing {

struct Judgement {
  bool right = false;
  bool wrong_rank = false;  // names as costly a rank that is innocent
  std::string said;
};

// Below this share of a step nobody needs to be named, and from twice of it on somebody does.
inline constexpr double kWorthNaming = 0.03;

inline std::string describe(const JobPlan& plan, double cost_ns, double step_ns) {
  std::string text = std::string(to_string(plan.fault)) + " seed " + std::to_string(plan.seed) + ": " +
                     std::to_string(plan.ranks) + " ranks, " + std::to_string(plan.per_host) + " a host, victim " +
                     std::to_string(plan.victim);
  if (plan.fault == Fault::alternating) text += " and " + std::to_string(plan.second);
  return text + ", costs " + std::to_string(cost_ns / 1e6) + " of " + std::to_string(step_ns / 1e6) + " ms" +
         (plan.overlapped ? ", overlapped" : "") + (plan.waits_each_step ? ", waits" : "") +
         (plan.missing > 0 ? ", damaged" : "") + (plan.hosts_known ? "" : ", hosts unknown");
}

inline Judgement judge(const JobPlan& plan, double cost_ns, double step_ns, const fusion::Job& job) {
  Judgement out;
  std::set<std::int64_t> guilty;
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    for (std::uint32_t step = 0; step < plan.steps; ++step) {
      if (plan.guilty(rank, step)) guilty.insert(rank);
    }
  }
  std::set<std::int64_t> named;
  bool whole_host = false;
  bool side_right = true;
  const fusion::LateSide side = plan.on_device() ? fusion::LateSide::device : fusion::LateSide::host;
  for (const fusion::Straggler& straggler : job.stragglers.stragglers) {
    // A delay of one step is spread over all of them.
    const double cost = std::max(straggler.undisturbed_cost.expected_ns, straggler.captured_cost_ns);
    whole_host = whole_host || (straggler.whole_host && cost >= kWorthNaming * step_ns);
    for (const std::uint32_t row : straggler.ranks) {
      const std::int64_t rank = job.set.rank_of(row);
      out.said += " rank " + std::to_string(rank) + " " + std::string(to_string(straggler.pattern)) + " " +
                  std::string(to_string(straggler.side)) + " " + std::to_string(cost / 1e6) + " ms;";
      if (cost < kWorthNaming * step_ns) continue;
      named.insert(rank);
      out.wrong_rank = out.wrong_rank || !guilty.contains(rank);
      side_right = side_right && (!guilty.contains(rank) || straggler.side == side);
    }
  }
  for (const fusion::Straggler& straggler : job.stragglers.of_recording) {
    out.said += " (by the recording: rank " + std::to_string(job.set.rank_of(straggler.ranks.front())) + ", late by " +
                std::to_string(straggler.lateness_ns / 1e6) + " ms in " + std::to_string(straggler.steps_late) +
                " steps)";
  }
  const bool must = cost_ns >= 2 * kWorthNaming * step_ns && !guilty.empty();
  const bool may = cost_ns >= 0.5 * kWorthNaming * step_ns;
  if (plan.fault == Fault::slow_host) {
    // Where hosts are recorded the host is named, not some of its ranks.
    const bool named_right = plan.hosts_known ? whole_host && named == guilty : !named.empty();
    out.right = !out.wrong_rank && (!must || named_right) && side_right;
  } else {
    out.right = !out.wrong_rank && !whole_host && (named.empty() ? !must : may || !must) &&
                (!must || named == guilty) && side_right;
  }
  return out;
}

}  // namespace accel::testing
