// A training job with a pipeline: stages of several replicas, each of which sends activations on and gradients back,
// then reduces its gradients among the replicas of its stage, then a norm among all ranks. As the digests of its ranks.
// Micro-batches go forward one after the other, then backward.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "fusion/digest/digest.h"

namespace accel::testing {

struct PipelineJob {
  std::int64_t stages = 4;
  std::int64_t replicas = 4;
  int steps = 6;
  int micro_batches = 4;
  std::int64_t forward_ns = 1'000'000;  // of one micro-batch; the last stage takes half as much again
  std::int64_t late_rank = -1;          // whose kernels take twice as long
  bool positions = false;               // peers recorded as positions in the group, not as ranks of the job
  bool one_receive_less = false;        // on rank `replicas`, in the third step

  std::vector<fusion::RankDigest> digests() {
    const std::int64_t world = stages * replicas;
    clock_.assign(static_cast<std::size_t>(world), 1'000'000'000);
    out_.assign(static_cast<std::size_t>(world), {});
    for (std::int64_t rank = 0; rank < world; ++rank) start(rank, world);
    for (int step = 0; step < steps; ++step) run(step, world);
    for (std::int64_t rank = 0; rank < world; ++rank) finish(rank);
    return std::move(out_);
  }

 private:
  enum Name : std::uint32_t { kSend, kRecv, kAllReduce, kForward, kBackward };
  enum Group : std::uint32_t { kPipeline, kReplicas, kWorld };

  std::int64_t rank_of(std::int64_t stage, std::int64_t replica) const { return stage * replicas + replica; }
  fusion::RankDigest& digest(std::int64_t rank) { return out_[static_cast<std::size_t>(rank)]; }
  std::int64_t& now(std::int64_t rank) { return clock_[static_cast<std::size_t>(rank)]; }

  void start(std::int64_t rank, std::int64_t world) {
    fusion::RankDigest& one = digest(rank);
    one.source = "rank" + std::to_string(rank);
    one.rank = rank;
    one.world_size = world;
    one.names = {"send", "recv", "all_reduce", "forward", "backward"};
    fusion::ProcessGroup pipeline{"pp" + std::to_string(rank % replicas), "pp", {}};
    for (std::int64_t stage = 0; stage < stages; ++stage) pipeline.ranks.push_back(rank_of(stage, rank % replicas));
    fusion::ProcessGroup same{"dp" + std::to_string(rank / replicas), "dp", {}};
    for (std::int64_t replica = 0; replica < replicas; ++replica)
      same.ranks.push_back(rank_of(rank / replicas, replica));
    fusion::ProcessGroup all{"0", "default_pg", {}};
    for (std::int64_t other = 0; other < world; ++other) all.ranks.push_back(other);
    one.groups = {pipeline, same, all};
    one.time_range.start_ns = now(rank);
  }

  void compute(std::int64_t rank, Name name, std::int64_t ns) {
    if (rank / replicas == stages - 1) ns += ns / 2;
    if (rank == late_rank) ns *= 2;
    ns += 1'000 * (rank * 7 % 13);  // no two ranks are quite alike
    fusion::Segment& work = digest(rank).steps.back().work;
    work.compute_ns += ns;
    const auto at = std::find_if(work.kernels.begin(), work.kernels.end(),
                                 [&](const fusion::KernelShare& share) { return share.name == name; });
    if (at == work.kernels.end()) {
      work.kernels.push_back({name, fusion::kNoRow, 1, ns});
    } else {
      ++at->count;
      at->ns += ns;
    }
    now(rank) += ns;
  }

  void record(std::int64_t rank, Name name, Group group, std::int64_t start, std::int64_t end, std::int64_t bytes,
              std::int64_t peer = kNotRecorded) {
    fusion::RankDigest& one = digest(rank);
    fusion::CommunicationEvent event;
    event.start_ns = start;
    event.end_ns = end;
    event.launch_ns = start - 20'000;
    event.bytes = bytes;
    event.name = name;
    event.group = group;
    event.step = static_cast<std::uint32_t>(one.steps.size() - 1);
    event.device = static_cast<std::int32_t>(rank % 8);
    event.stream = 20 + group;
    if (peer != kNotRecorded) event.peer = positions ? peer / replicas : peer;
    one.events.push_back(event);
    one.steps.back().communication_exposed_ns += end - start;
  }

  void send(std::int64_t from, std::int64_t to, int step) {
    const std::int64_t end = std::max(now(from), now(to)) + 50'000;
    record(from, kSend, kPipeline, now(from), end, 8 << 20, to);
    const bool lost = one_receive_less && to == replicas && step == 2 && from == 0 && std::exchange(lose_, false);
    if (!lost) record(to, kRecv, kPipeline, now(to), end, 8 << 20, from);
    now(from) = now(to) = end;
  }

  void reduce(const std::vector<std::int64_t>& ranks, Group group, std::int64_t bytes, std::int64_t transfer) {
    std::int64_t last = 0;
    for (const std::int64_t rank : ranks) last = std::max(last, now(rank));
    for (const std::int64_t rank : ranks) {
      record(rank, kAllReduce, group, now(rank), last + transfer, bytes);
      now(rank) = last + transfer;
    }
  }

  void run(int step, std::int64_t world) {
    for (std::int64_t rank = 0; rank < world; ++rank) {
      fusion::DigestStep one;
      one.number = step;
      one.host.start_ns = one.device.start_ns = now(rank);
      one.work.whole = true;
      digest(rank).steps.push_back(std::move(one));
    }
    for (std::int64_t replica = 0; replica < replicas; ++replica) {
      for (int batch = 0; batch < micro_batches; ++batch) {
        for (std::int64_t stage = 0; stage < stages; ++stage) {
          if (stage > 0) send(rank_of(stage - 1, replica), rank_of(stage, replica), step);
          compute(rank_of(stage, replica), kForward, forward_ns);
        }
      }
      for (int batch = 0; batch < micro_batches; ++batch) {
        for (std::int64_t stage = stages - 1; stage >= 0; --stage) {
          if (stage < stages - 1) send(rank_of(stage + 1, replica), rank_of(stage, replica), step);
          compute(rank_of(stage, replica), kBackward, 2 * forward_ns);
        }
      }
    }
    for (std::int64_t stage = 0; stage < stages; ++stage) {
      std::vector<std::int64_t> same;
      for (std::int64_t replica = 0; replica < replicas; ++replica) same.push_back(rank_of(stage, replica));
      reduce(same, kReplicas, 64 << 20, 400'000);
    }
    std::vector<std::int64_t> all;
    for (std::int64_t rank = 0; rank < world; ++rank) all.push_back(rank);
    reduce(all, kWorld, 4, 20'000);
    for (std::int64_t rank = 0; rank < world; ++rank) {
      fusion::DigestStep& one = digest(rank).steps.back();
      one.host.end_ns = one.device.end_ns = now(rank);
      one.work.device_ns = one.work.host_ns = now(rank) - one.host.start_ns;
      one.work.waits_ns = one.work.host_ns - 1'000'000;
    }
  }

  void finish(std::int64_t rank) {
    fusion::RankDigest& one = digest(rank);
    one.time_range.end_ns = now(rank);
    one.segments.resize(one.events.size());
    const auto length = static_cast<double>(one.time_range.end_ns - one.time_range.start_ns) / steps;
    one.timing.measured_step_ns = length;
    one.timing.paced_by_device = true;
    one.timing.step = fusion::TimeBand{length, 0.9 * length, 1.1 * length};
  }

  std::vector<std::int64_t> clock_;
  std::vector<fusion::RankDigest> out_;
  bool lose_ = true;
};

}  // namespace accel::testing
