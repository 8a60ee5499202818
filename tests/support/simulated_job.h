// Runs a JobPlan: hosts that issue work, devices that do it, collectives in which all ranks meet. The result says what
// really happened, on one true clock; digests_of() turns it into what each rank would have recorded on its own clock.
// Nothing here knows how the fusion works: it states physics, not statistics.
//
// One step of one rank:
//   host:    [fault] loader, ops of the forward pass, ops and one collective for each bucket, optimizer, wait
//   device:  kernel k starts when it was launched and the kernel before it is done. A bucket's collective starts when
//            its gradients and the collective before it are done, and ends for all ranks when the last one has come and
//            the transfer is over. The optimizer waits for all collectives.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/idle_cause.h"
#include "support/job_plan.h"
#include "trace/schema.h"

namespace accel::testing {

// Times in ns from the start of the job, on a true clock.
struct HostPiece {
  std::int64_t start = 0, end = 0;
  const char* name = "";  // empty: nothing is recorded
  SliceKind kind = SliceKind::op;
  IdleCause cause = IdleCause::host_compute;
  bool wait = false;
  std::uint32_t step = 0;
};
struct KernelPiece {
  std::int64_t start = 0, end = 0, launch = 0;
  const char* name = "";
  std::uint32_t step = 0;
};
struct CollectivePiece {
  std::int64_t launch = 0, start = 0, end = 0;
  std::uint32_t step = 0, bucket = 0;
};
struct RankRun {
  std::vector<std::int64_t> step_starts;  // on the host, one more than there are steps
  std::vector<HostPiece> host;
  std::vector<KernelPiece> kernels;
  std::vector<CollectivePiece> collectives;
};
struct JobRun {
  std::vector<RankRun> ranks;
  double step_ns = 0;  // mean of the job
};

class JobSimulation {
 public:
  explicit JobSimulation(const JobPlan& plan) : plan_(plan), draw_(plan.seed + 99), states_(plan.ranks) {
    run_.ranks.resize(plan.ranks);
  }

  JobRun run() {
    for (std::uint32_t step = 0; step < plan_.steps; ++step) {
      for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) issue(rank, step);
      for (std::uint32_t bucket = 0; bucket < plan_.buckets; ++bucket) meet(step, bucket);
      for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) finish(rank, step);
    }
    for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
      run_.ranks[rank].step_starts.push_back(states_[rank].host);
      run_.step_ns += static_cast<double>(std::max(states_[rank].host, states_[rank].compute)) / plan_.ranks;
    }
    run_.step_ns /= plan_.steps;
    return std::move(run_);
  }

 private:
  struct State {
    std::int64_t host = 0, compute = 0, communication = 0;
    std::int64_t step_end = 0, step_before_end = 0;  // of the device
  };
  static constexpr std::int64_t kLatency = 6'000;  // from a launch to an idle device

  // Physics of a small kind that no two ranks share.
  std::int64_t varied(double ms, double share, std::uint32_t rank, std::uint32_t step, std::uint64_t what) const {
    const double factor = 1 + share * std::clamp(draw_.normal(rank + 1, step, what), -3.0, 3.0);
    return static_cast<std::int64_t>(ms * 1e6 * factor);
  }

  // A core that something else uses now and then.
  std::int64_t stalled(std::uint32_t rank, std::uint32_t step, std::uint64_t what, double ops) const {
    if (plan_.stalls <= 0 || draw_.uniform(rank + 1, step, what, 11) >= plan_.stalls / ops) return 0;
    return static_cast<std::int64_t>(-1e6 * plan_.stall_ms * std::log(1 - draw_.uniform(rank + 1, step, what, 12)));
  }

  void on_host(std::uint32_t rank, std::uint32_t step, std::int64_t ns, const char* name, SliceKind kind,
               IdleCause cause, bool wait = false) {
    if (ns <= 0) return;
    State& state = states_[rank];
    run_.ranks[rank].host.push_back({state.host, state.host + ns, name, kind, cause, wait, step});
    state.host += ns;
  }
  void on_device(std::uint32_t rank, std::uint32_t step, std::int64_t launch, std::int64_t ns, const char* name) {
    State& state = states_[rank];
    const std::int64_t start = std::max(state.compute, launch + kLatency);
    run_.ranks[rank].kernels.push_back({start, start + ns, launch, name, step});
    state.compute = start + ns;
  }

  void pass(std::uint32_t rank, std::uint32_t step, std::uint32_t part, const char* op, const char* kernel) {
    const bool guilty = plan_.guilty(rank, step);
    const double parts = plan_.buckets + 1;
    const double count = plan_.kernels * parts;
    const bool slow_ops = guilty && (plan_.fault == Fault::slow_ops || plan_.fault == Fault::slow_host);
    const double host = (plan_.host_ms + (slow_ops ? plan_.size_ms : 0)) / count;
    const bool slow_kernels = guilty && plan_.fault == Fault::slow_kernels;
    const double device = (plan_.compute_ms + (slow_kernels ? plan_.size_ms : 0)) / count;
    for (std::uint32_t k = 0; k < plan_.kernels; ++k) {
      const std::uint64_t key = part * 1000 + k;
      const std::int64_t begin = states_[rank].host;
      on_host(rank, step, varied(host, 0.1, rank, step, key) + stalled(rank, step, key, count), op, SliceKind::op,
              IdleCause::host_compute);
      on_device(rank, step, (begin + states_[rank].host) / 2, varied(device, 0.01, rank, step, key + 500), kernel);
    }
  }

  void issue(std::uint32_t rank, std::uint32_t step) {
    const bool guilty = plan_.guilty(rank, step);
    const auto size = static_cast<std::int64_t>(plan_.size_ms * 1e6);
    run_.ranks[rank].step_starts.push_back(states_[rank].host);
    if (guilty && (plan_.fault == Fault::sleep || plan_.fault == Fault::one_off))
      on_host(rank, step, size, "", SliceKind::other, IdleCause::unknown);
    const bool slow_loader = guilty && plan_.fault == Fault::loader;
    on_host(rank, step, varied(plan_.loader_ms, 0.1, rank, step, 7) + (slow_loader ? size : 0),
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", SliceKind::annotation,
            IdleCause::data_loading);
    pass(rank, step, 0, "aten::linear", "gemm_forward");
    if (guilty && (plan_.fault == Fault::more_work || plan_.fault == Fault::alternating)) {
      constexpr int kMore = 10;
      for (int i = 0; i < kMore; ++i) {
        const std::int64_t begin = states_[rank].host;
        on_host(rank, step, 10'000, "aten::mm", SliceKind::op, IdleCause::host_compute);
        on_device(rank, step, (begin + states_[rank].host) / 2, size / kMore, "gemm_more");
      }
    }
    for (std::uint32_t bucket = 0; bucket < plan_.buckets; ++bucket) {
      pass(rank, step, bucket + 1, "autograd::linear_backward", "gemm_backward");
      if (plan_.overlapped) call(rank, step, bucket);
    }
    if (plan_.overlapped) return;
    for (std::uint32_t bucket = 0; bucket < plan_.buckets; ++bucket) call(rank, step, bucket);
  }

  void call(std::uint32_t rank, std::uint32_t step, std::uint32_t bucket) {
    const std::int64_t launch = states_[rank].host;
    on_host(rank, step, 25'000, "c10d::allreduce_", SliceKind::op, IdleCause::host_compute);
    run_.ranks[rank].collectives.push_back({launch + 15'000, states_[rank].compute, 0, step, bucket});
  }

  // All ranks' collective of one bucket.
  void meet(std::uint32_t step, std::uint32_t bucket) {
    const std::size_t row = static_cast<std::size_t>(step) * plan_.buckets + bucket;
    std::int64_t last = 0;
    std::int64_t first = 0;
    for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
      CollectivePiece& piece = run_.ranks[rank].collectives[row];
      piece.start = std::max({piece.start, piece.launch + kLatency, states_[rank].communication});
      last = std::max(last, piece.start);
      first = rank == 0 ? piece.start : std::min(first, piece.start);
    }
    const double extra = plan_.fault == Fault::slow_link ? plan_.size_ms : 0;
    const auto transfer = static_cast<std::int64_t>((plan_.transfer_ms + extra) * 1e6 / plan_.buckets *
                                                    (1 + 0.03 * draw_.uniform(1, step, bucket, 5)));
    for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
      CollectivePiece& piece = run_.ranks[rank].collectives[row];
      // Beside compute the last one to come also leaves last, by some 30 us.
      const double share =
          last > first ? static_cast<double>(piece.start - first) / static_cast<double>(last - first) : 0;
      const double behind = plan_.overlapped ? 28'000 * share : 0;
      const double noise = 300 + 500 * draw_.uniform(rank + 1, step, bucket, 6);
      piece.end = last + transfer + static_cast<std::int64_t>(behind + noise);
      states_[rank].communication = piece.end;
    }
  }

  void finish(std::uint32_t rank, std::uint32_t step) {
    State& state = states_[rank];
    const std::int64_t begin = state.host;
    on_host(rank, step, 200'000, "Optimizer.step#AdamW.step", SliceKind::annotation, IdleCause::host_compute);
    state.compute = std::max(state.compute, state.communication);
    on_device(rank, step, begin + 100'000, varied(0.8, 0.01, rank, step, 9), "multi_tensor_adam");
    state.step_before_end = state.step_end;
    state.step_end = state.compute;
    const std::int64_t until = plan_.waits_each_step ? state.step_end : state.step_before_end;
    on_host(rank, step, until + 5'000 - state.host, "cudaStreamSynchronize", SliceKind::runtime_call,
            IdleCause::synchronization, true);
  }

  const JobPlan plan_;
  Draws draw_;
  std::vector<State> states_;
  JobRun run_;
};

inline JobRun simulate(const JobPlan& plan) { return JobSimulation(plan).run(); }

// What the fault costs the job per step: the same job with and without it.
inline double true_cost_ns(const JobPlan& plan, const JobRun& run) {
  JobPlan sound = plan;
  sound.fault = Fault::none;
  return run.step_ns - simulate(sound).step_ns;
}

// The clock with which one rank recorded.
struct RecordingClock {
  double offset_ns = 0;
  double rate = 1;

  static RecordingClock of(const JobPlan& plan, std::uint32_t rank) {
    const Draws draw(plan.seed + 4242);
    const std::uint32_t host = rank / plan.per_host;
    return {draw.between(-plan.offset_s, plan.offset_s, 1, host) * 1e9,
            1 + draw.between(-plan.drift_ppm, plan.drift_ppm, 2, host) * 1e-6};
  }
  std::int64_t at(std::int64_t time_ns) const {
    constexpr std::int64_t kEpoch = 1'700'000'000'000'000'000;
    return kEpoch + static_cast<std::int64_t>(offset_ns + static_cast<double>(time_ns) * rate);
  }
};

}  // namespace accel::testing
