// A job of a few ranks written by hand, for the tests of the rules about many ranks: each step computes, then reduces.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "diagnosis/job_diagnosis.h"
#include "fusion/job.h"

namespace accel {

struct SmallJob {
  std::int64_t ranks = 4;
  int steps = 5;
  std::int64_t compute_ns = 8'000'000;  // of a step, on every rank
  std::int64_t late_rank = -1;          // holds the others up
  std::int64_t host_late_ns = 0;        // by a stretch of its host outside of every record
  std::int64_t device_late_ns = 0;      // by more kernels on its device
  std::vector<int> late_in;             // steps in which it does; empty: in all
  int collectives = 1;                  // per step, one after the other
  std::int64_t bytes = 64 << 20;
  std::int64_t transfer_ns = 1'000'000;  // of one
  bool hidden = false;                   // compute runs beside them
  std::string host;                      // of the late rank

  fusion::Job job() const {
    std::vector<fusion::RankDigest> digests;
    for (std::int64_t rank = 0; rank < ranks; ++rank) digests.push_back(digest(rank));
    return fusion::fuse(std::move(digests));
  }
  Diagnosis diagnosis() const { return diagnose_job(job()); }

 private:
  fusion::RankDigest digest(std::int64_t rank) const {
    using namespace fusion;
    RankDigest out;
    out.source = "rank" + std::to_string(rank);
    out.rank = rank;
    out.world_size = ranks;
    if (rank == late_rank) out.host = host;
    out.names = {"all_reduce", "gemm", "extra", "aten::mm", "Optimizer.zero_grad"};
    ProcessGroup group{"0", "default_pg", {}};
    for (std::int64_t r = 0; r < ranks; ++r) group.ranks.push_back(r);
    out.groups.push_back(group);
    std::int64_t end = 1'000'000'000;
    for (int k = 0; k < steps; ++k) {
      const bool delayed = late_in.empty() || std::find(late_in.begin(), late_in.end(), k) != late_in.end();
      const bool late = delayed && rank == late_rank;
      const std::int64_t delay = delayed ? host_late_ns + device_late_ns : 0;
      const std::int64_t own = late ? delay : 0;
      const std::int64_t length = compute_ns + delay + collectives * transfer_ns;
      const std::int64_t start = end;
      end += length;
      DigestStep step;
      step.number = k;
      step.host = {start, start + length};
      step.device = {start, start + length};
      step.work.whole = true;
      step.work.device_ns = length;
      step.work.compute_ns = compute_ns + (late ? device_late_ns : 0);
      step.work.host_ns = length;
      step.work.waits_ns = length - 2'000'000 - (late ? host_late_ns : 0);
      step.work.host.push_back({3, SliceKind::op, IdleCause::host_compute, 100, 2'000'000, 20'000, kNoRow});
      if (late && host_late_ns > 0)
        step.work.host.push_back({kNoRow, SliceKind::other, IdleCause::unknown, 1, host_late_ns, host_late_ns, 4});
      step.work.kernels.push_back({1, kNoRow, 10, compute_ns});
      if (late && device_late_ns > 0) step.work.kernels.push_back({2, kNoRow, 4, device_late_ns});
      step.communication_exposed_ns = hidden ? 0 : collectives * transfer_ns + (late ? 0 : delay);
      for (int c = 0; c < collectives; ++c) {
        CommunicationEvent event;
        const std::int64_t last_arrival = start + compute_ns + delay + c * transfer_ns;
        event.start_ns = c == 0 ? start + compute_ns + own : last_arrival;
        event.end_ns = last_arrival + transfer_ns;
        event.launch_ns = start + c;
        event.bytes = bytes;
        event.overlapped_ns = hidden ? event.end_ns - event.start_ns : 0;
        event.name = 0;
        event.group = 0;
        event.step = static_cast<std::uint32_t>(k);
        event.device = 0;
        Segment segment;
        segment.whole = k > 0 || c > 0;
        if (c == 0) {
          segment.device_ns = compute_ns + own;
          segment.compute_ns = step.work.compute_ns;
        }
        out.events.push_back(event);
        out.segments.push_back(segment);
      }
      out.steps.push_back(std::move(step));
    }
    out.time_range = {1'000'000'000, end};
    const double mean = static_cast<double>(end - out.time_range.start_ns) / steps;
    out.timing.measured_step_ns = mean;
    out.timing.step = TimeBand{mean, 0.9 * mean, 1.1 * mean};
    out.timing.device =
        TimeBand{static_cast<double>(compute_ns), static_cast<double>(compute_ns), static_cast<double>(compute_ns)};
    return out;
  }
};

inline const Finding* find_rule(const Diagnosis& diagnosis, std::string_view rule) {
  const auto at = std::find_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                               [&](const Finding& finding) { return finding.rule == rule; });
  return at == diagnosis.findings.end() ? nullptr : &*at;
}

}  // namespace accel
