// A training job to simulate: how large it is, what one step of it does, what is wrong with it, and what the recording
// of it suffers. plan_job() draws one from a seed. Everything random is a hash of the seed and of what it is for, so
// that a job and the same job without its fault share every other draw. tests/support/simulated_job.h runs a plan.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

namespace accel::testing {

// Uniform in [0, 1) and standard normal, by key.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}

  double uniform(std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0, std::uint64_t d = 0) const {
    std::uint64_t state = seed_;
    for (const std::uint64_t key : {a, b, c, d}) state = mixed(state ^ (key + 0x9e3779b97f4a7c15ULL));
    return static_cast<double>(state >> 11) * 0x1p-53;
  }
  double normal(std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0, std::uint64_t d = 0) const {
    const double u = uniform(a, b, c, d * 2 + 1000003);
    const double v = uniform(a, b, c, d * 2 + 1000004);
    return std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * std::numbers::pi * v);
  }
  double between(double low, double high, std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0) const {
    return low + (high - low) * uniform(a, b, c);
  }

 private:
  static std::uint64_t mixed(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }
  std::uint64_t seed_;
};

enum class Fault : std::uint8_t {
  none,
  sleep,         // a stretch of the host that nothing records
  loader,        // the data loader takes longer
  slow_ops,      // every host op takes longer
  more_work,     // further kernels on the device
  slow_kernels,  // the same kernels, slower
  slow_link,     // every transfer takes longer, for all ranks
  slow_host,     // the host ops of all ranks of one host take longer
  alternating,   // two ranks take turns in having more work
  one_off,       // a stretch of the host in one step alone
};
inline constexpr std::uint64_t kFaults = 10;

inline const char* to_string(Fault fault) {
  constexpr const char* kNames[] = {"none",         "sleep",     "loader",    "slow_ops",    "more_work",
                                    "slow_kernels", "slow_link", "slow_host", "alternating", "one_off"};
  return kNames[static_cast<std::size_t>(fault)];
}

struct JobPlan {
  std::uint64_t seed = 0;
  std::uint32_t ranks = 8;
  std::uint32_t per_host = 8;
  std::uint32_t steps = 8;
  std::uint32_t buckets = 4;  // gradient collectives of a step
  std::uint32_t kernels = 8;  // of the forward pass, and before each bucket
  double compute_ms = 30;     // of a step and device
  double host_ms = 12;        // of a step's ops
  double loader_ms = 0.5;
  double transfer_ms = 3;       // all buckets of a step
  bool overlapped = true;       // buckets run beside the backward pass; else after it
  double stall_ms = 0;          // mean time for which the scheduler takes the core from a host, where it does
  double stalls = 0;            // how often a step, on each rank
  bool waits_each_step = true;  // the host reads a result at the end of each step; else of the step before

  Fault fault = Fault::none;
  std::uint32_t victim = 0;      // rank; of slow_host: host
  std::uint32_t second = 1;      // the other of an alternating pair
  std::uint32_t fault_step = 0;  // of one_off
  double size_ms = 0;            // what the fault adds to a step of the victim, or to all transfers

  // The recording.
  double offset_s = 10;  // clocks of hosts: uniform up to this, both ways
  double drift_ppm = 100;
  double jitter_us = 0.5;  // of every time stamp of a device
  bool hosts_known = true;
  double missing = 0;     // share of the collectives' records that are lost
  double wrong_ends = 0;  // share whose end is wrong
  std::int64_t missing_rank = -1;
  std::int64_t late_rank = -1;  // its recording begins two steps after the others'

  bool guilty(std::uint32_t rank, std::uint32_t step) const {
    switch (fault) {
      case Fault::none:
      case Fault::slow_link:
        return false;
      case Fault::slow_host:
        return rank / per_host == victim;
      case Fault::alternating:
        return rank == (step % 2 == 0 ? victim : second);
      case Fault::one_off:
        return rank == victim && step == fault_step;
      default:
        return rank == victim;
    }
  }
  bool on_device() const {
    return fault == Fault::more_work || fault == Fault::slow_kernels || fault == Fault::alternating;
  }
};

inline JobPlan plan_job(std::uint64_t seed) {
  const Draws draw(seed * 2654435761ULL + 17);
  const auto pick = [&](std::uint64_t key, std::uint64_t count) {
    return static_cast<std::uint64_t>(draw.uniform(key) * static_cast<double>(count));
  };
  JobPlan plan;
  plan.seed = seed;
  constexpr std::uint32_t kSizes[] = {8, 8, 16, 16, 32, 64};
  plan.ranks = kSizes[pick(1, 6)];
  plan.per_host = pick(2, 2) == 0 ? 8 : 4;
  plan.steps = 6 + static_cast<std::uint32_t>(pick(3, 7));
  plan.buckets = 2 + static_cast<std::uint32_t>(pick(4, 5));
  plan.compute_ms = draw.between(15, 80, 5);
  const bool host_bound = pick(6, 3) == 0;
  plan.host_ms = plan.compute_ms * (host_bound ? draw.between(1.3, 2, 7) : draw.between(0.2, 0.6, 7));
  plan.transfer_ms = plan.compute_ms * draw.between(0.03, 0.25, 8);
  plan.overlapped = pick(9, 3) != 0;
  plan.waits_each_step = pick(10, 2) == 0;
  plan.fault = static_cast<Fault>(seed % kFaults);
  plan.victim =
      static_cast<std::uint32_t>(pick(11, plan.fault == Fault::slow_host ? plan.ranks / plan.per_host : plan.ranks));
  // A slow host needs another that is not.
  if (plan.fault == Fault::slow_host && plan.ranks <= plan.per_host) plan.per_host = plan.ranks / 2;
  plan.second = (plan.victim + 1 + static_cast<std::uint32_t>(pick(12, plan.ranks - 1))) % plan.ranks;
  plan.fault_step = 1 + static_cast<std::uint32_t>(pick(13, plan.steps - 2));
  const double step = std::max(plan.compute_ms, plan.host_ms);
  plan.size_ms = step * draw.between(0.15, 0.6, 14);
  // What hides behind a faster device, or host, is no fault: the size counts from where it shows.
  const bool host_side = !plan.on_device() && plan.fault != Fault::slow_link;
  if (host_side && !host_bound && !plan.waits_each_step) plan.size_ms += plan.compute_ms - plan.host_ms;
  if (plan.on_device() && host_bound) plan.size_ms += plan.host_ms - plan.compute_ms;
  if (plan.fault == Fault::one_off) plan.size_ms *= 2;
  plan.jitter_us = draw.between(0.1, 2, 15);
  plan.hosts_known = pick(16, 2) == 0;
  if (pick(17, 3) == 0) {
    plan.missing = 0.01;
    plan.wrong_ends = 0.005;
  }
  if (pick(18, 4) == 0 && plan.fault != Fault::slow_host) {
    plan.missing_rank = static_cast<std::int64_t>(pick(19, plan.ranks));
    plan.late_rank = static_cast<std::int64_t>(pick(20, plan.ranks));
    const auto innocent = [&](std::int64_t rank) { return rank != plan.victim && rank != plan.second; };
    if (!innocent(plan.missing_rank)) plan.missing_rank = -1;
    if (!innocent(plan.late_rank) || plan.fault == Fault::one_off) plan.late_rank = -1;
  }
  return plan;
}

// A job of a few ranks on hosts that other work shares: every rank is shaken by some milliseconds a step, and nothing
// is wrong with any of them.
inline JobPlan plan_shaken_job(std::uint64_t seed) {
  const Draws draw(seed * 2654435761ULL + 71);
  const auto pick = [&](std::uint64_t key, std::uint64_t count) {
    return static_cast<std::uint32_t>(draw.uniform(key) * static_cast<double>(count));
  };
  JobPlan plan;
  plan.seed = seed;
  constexpr std::uint32_t kSizes[] = {2, 2, 2, 3, 4, 8};
  plan.ranks = kSizes[pick(1, 6)];
  plan.per_host = pick(2, 3) == 0 ? 1 : plan.ranks;
  plan.steps = 4 + pick(3, 17);
  plan.buckets = 1 + pick(4, 5);
  plan.kernels = 4;
  plan.host_ms = draw.between(12, 60, 5);
  plan.compute_ms = plan.host_ms * draw.between(0.1, 1.2, 6);
  plan.transfer_ms = draw.between(0.5, 3, 7);
  plan.stall_ms = draw.between(2, 6, 8);
  plan.stalls = draw.between(0.5, 4, 9);
  plan.overlapped = pick(10, 2) == 0;
  plan.waits_each_step = pick(11, 2) == 0;
  plan.hosts_known = pick(12, 2) == 0;
  plan.victim = pick(13, plan.ranks);
  return plan;
}

}  // namespace accel::testing
