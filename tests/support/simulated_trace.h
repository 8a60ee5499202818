// What one rank of a simulated job would have exported: a Kineto trace, as PyTorch 2.11 writes it, so that the whole
// reader is exercised on jobs whose truth is known.
#pragma once

#include <fmt/format.h>

#include <string>

#include "support/simulated_job.h"

namespace accel::testing {

class TraceMaker {
 public:
  TraceMaker(const JobPlan& plan, const RankRun& run, std::uint32_t rank)
      : plan_(plan), run_(run), rank_(rank), clock_(RecordingClock::of(plan, rank)), draw_(plan.seed + 777) {}

  std::string make() {
    text_ = fmt::format(
        R"({{"schemaVersion":1,"baseTimeNanoseconds":{},"distributedInfo":{{"backend":"nccl","rank":{},"world_size":{}}},)"
        R"("deviceProperties":[{{"id":{},"name":"NVIDIA H100 80GB HBM3"}}],"traceEvents":[)",
        kBase, rank_, plan_.ranks, device());
    for (std::uint32_t step = 0; step < plan_.steps; ++step) {
      host_event("user_annotation", fmt::format("ProfilerStep#{}", step), run_.step_starts[step],
                 run_.step_starts[step + 1], "");
    }
    for (const HostPiece& piece : run_.host) host_piece(piece);
    for (std::size_t i = 0; i < run_.kernels.size(); ++i) kernel(i);
    for (std::size_t i = 0; i < run_.collectives.size(); ++i) collective(i);
    text_.back() = ']';  // the last comma
    return text_ + "}\n";
  }

 private:
  static constexpr std::int64_t kBase = 1'690'000'000'000'000'000;
  static constexpr std::int64_t kCall = 4'000;  // a launch call, ns

  std::uint32_t device() const { return rank_ % plan_.per_host; }
  std::int64_t pid() const { return 1000 + rank_; }
  std::string us(std::int64_t ns) const { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }
  std::int64_t device_time(std::int64_t time, std::uint64_t row, std::uint64_t which) const {
    return clock_.at(time) + static_cast<std::int64_t>(1e3 * plan_.jitter_us * draw_.normal(rank_ + 1, row, which));
  }

  void event(std::string_view category, std::string_view name, std::string_view place, std::int64_t start,
             std::int64_t end, std::string_view args) {
    text_ += fmt::format(R"({{"ph":"X","cat":"{}","name":"{}",{},"ts":{},"dur":{},"args":{{{}}}}},)", category, name,
                         place, us(start - kBase), us(std::max<std::int64_t>(0, end - start)), args);
  }
  void host_event(std::string_view category, std::string_view name, std::int64_t start, std::int64_t end,
                  std::string_view args) {
    event(category, name, fmt::format(R"("pid":{0},"tid":{0})", pid()), clock_.at(start), clock_.at(end), args);
  }
  void host_piece(const HostPiece& piece) {
    if (*piece.name == 0) return;
    // Nothing is recorded under a name in a moment of nothing, and a collective brings its own record.
    switch (piece.kind) {
      case SliceKind::annotation:
        return host_event("user_annotation", piece.name, piece.start, piece.end, "");
      case SliceKind::runtime_call:
        return host_event("cuda_runtime", piece.name, piece.start, piece.end,
                          fmt::format(R"("correlation":{})", ++correlation_));
      default:
        return host_event("cpu_op", piece.name, piece.start, piece.end, "");
    }
  }
  void launch(std::int64_t at, std::int64_t correlation) {
    host_event("cuda_runtime", "cudaLaunchKernel", at - kCall, at, fmt::format(R"("correlation":{})", correlation));
  }
  void kernel(std::size_t i) {
    const KernelPiece& piece = run_.kernels[i];
    launch(piece.launch, ++correlation_);
    event("kernel", piece.name, fmt::format(R"("pid":{},"tid":7)", device()), device_time(piece.start, i, 11),
          device_time(piece.end, i, 12),
          fmt::format(R"("device":{},"context":1,"stream":7,"correlation":{})", device(), correlation_));
  }
  void collective(std::size_t i) {
    const CollectivePiece& piece = run_.collectives[i];
    if (draw_.uniform(rank_ + 1, i, 50) < plan_.missing) return;
    std::string ranks;
    for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) ranks += (rank > 0 ? ", " : "") + std::to_string(rank);
    const std::int64_t elements = 250'000 * (static_cast<std::int64_t>(piece.bucket) + 25);
    host_event("cpu_op", "record_param_comms", piece.launch - 14'000, piece.launch + 9'000,
               fmt::format(R"("Collective name":"allreduce","In msg nelems":{0},"Out msg nelems":{0},"Group size":{1},)"
                           R"("dtype":"Float","Process Group Name":"0","Process Group Description":"default_pg",)"
                           R"("Process Group Ranks":"[{2}]")",
                           elements, plan_.ranks, ranks));
    launch(piece.launch, ++correlation_);
    event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
          fmt::format(R"("pid":{},"tid":20)", device()), device_time(piece.start, i, 1), device_time(piece.end, i, 2),
          fmt::format(R"("device":{},"context":1,"stream":20,"correlation":{})", device(), correlation_));
  }

  const JobPlan& plan_;
  const RankRun& run_;
  std::uint32_t rank_;
  RecordingClock clock_;
  Draws draw_;
  std::int64_t correlation_ = 0;
  std::string text_;
};

}  // namespace accel::testing
