// What the ranks of a simulated job would have recorded, as digests: on clocks that disagree, with jitter, lost records
// and wrong ends.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/interval_set.h"
#include "fusion/digest/digest.h"
#include "support/simulated_job.h"

namespace accel::testing {

class DigestMaker {
 public:
  DigestMaker(const JobPlan& plan, const RankRun& run, std::uint32_t rank)
      : plan_(plan), run_(run), rank_(rank), clock_(RecordingClock::of(plan, rank)), draw_(plan.seed + 777) {}

  fusion::RankDigest make() {
    digest_.source = "rank" + std::to_string(rank_) + ".json";
    digest_.rank = rank_;
    digest_.world_size = plan_.ranks;
    if (plan_.hosts_known) digest_.host = "node" + std::to_string(rank_ / plan_.per_host);
    digest_.backend = "nccl";
    digest_.absolute_time = true;
    digest_.devices.push_back({static_cast<std::int64_t>(rank_ % plan_.per_host), "NVIDIA H100 80GB HBM3", ""});
    fusion::ProcessGroup group{"0", "default_pg", {}};
    for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) group.ranks.push_back(rank);
    digest_.groups.push_back(std::move(group));
    first_step_ = rank_ == plan_.late_rank ? 2 : 0;
    std::vector<Interval> compute;
    for (const KernelPiece& kernel : run_.kernels) compute.push_back({kernel.start, kernel.end});
    compute_ = IntervalSet::from_unsorted(std::move(compute));
    events();
    steps();
    timing();
    return std::move(digest_);
  }

 private:
  std::uint32_t name(const char* text) {
    if (*text == 0) return fusion::kNoRow;
    const auto [at, is_new] = names_.try_emplace(text, static_cast<std::uint32_t>(digest_.names.size()));
    if (is_new) digest_.names.emplace_back(text);
    return at->second;
  }
  std::int64_t stamp(std::int64_t time, std::uint64_t row, std::uint64_t which) const {
    return clock_.at(time) + static_cast<std::int64_t>(1e3 * plan_.jitter_us * draw_.normal(rank_ + 1, row, which));
  }

  void events() {
    const CollectivePiece* before = nullptr;
    std::size_t kernel = 0;
    std::size_t host = 0;
    for (std::size_t i = 0; i < run_.collectives.size(); ++i) {
      const CollectivePiece& piece = run_.collectives[i];
      if (piece.step < first_step_ || draw_.uniform(rank_ + 1, i, 50) < plan_.missing) continue;
      fusion::CommunicationEvent event;
      event.start_ns = stamp(piece.start, i, 1);
      event.end_ns = std::max(event.start_ns, stamp(piece.end, i, 2));
      event.overlapped_ns =
          std::min(compute_.clipped({piece.start, piece.end}).total_ns(), event.end_ns - event.start_ns);
      if (draw_.uniform(rank_ + 1, i, 51) < plan_.wrong_ends) {
        const double off = draw_.uniform(rank_ + 1, i, 52);
        event.end_ns = off < 0.5 ? event.start_ns + static_cast<std::int64_t>(1e6 * off)
                                 : event.end_ns + static_cast<std::int64_t>(1e9 * off);
        event.overlapped_ns = std::min(event.overlapped_ns, event.end_ns - event.start_ns);
      }
      event.launch_ns = stamp(piece.launch, i, 3);
      event.bytes = 1'000'000 * (static_cast<std::int64_t>(piece.bucket) + 25);
      event.name = name("all_reduce");
      event.dtype = name("Float");
      event.group = 0;
      event.step = piece.step - first_step_;
      event.device = static_cast<std::int32_t>(rank_ % plan_.per_host);
      event.stream = 20;
      fusion::Segment segment;
      segment.whole = before != nullptr;
      const std::int64_t from = before != nullptr ? before->end : run_.step_starts[piece.step];
      segment.device_ns = std::max<std::int64_t>(0, piece.start - from);
      if (segment.device_ns > 0) segment.compute_ns = compute_.clipped({from, piece.start}).total_ns();
      while (kernel < run_.kernels.size() && run_.kernels[kernel].start < from) ++kernel;
      segment.kernels = kernels(kernel, [&](const KernelPiece& k) { return k.start < piece.start; });
      const std::int64_t issued = before != nullptr ? before->launch : run_.step_starts[piece.step];
      segment.host_ns = piece.launch - issued;
      while (host < run_.host.size() && run_.host[host].start < issued) ++host;
      fill_host(segment, host, [&](const HostPiece& h) { return h.start < piece.launch; });
      digest_.events.push_back(event);
      digest_.segments.push_back(std::move(segment));
      before = &piece;
    }
  }

  template <typename Within>
  std::vector<fusion::KernelShare> kernels(std::size_t& at, Within within) {
    std::vector<fusion::KernelShare> shares;
    for (; at < run_.kernels.size() && within(run_.kernels[at]); ++at) {
      const std::uint32_t row = name(run_.kernels[at].name);
      auto share = std::find_if(shares.begin(), shares.end(), [&](const auto& s) { return s.name == row; });
      if (share == shares.end()) share = shares.insert(share, {row, fusion::kNoRow, 0, 0});
      ++share->count;
      share->ns += run_.kernels[at].end - run_.kernels[at].start;
    }
    std::stable_sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.ns > b.ns; });
    return shares;
  }

  template <typename Within>
  void fill_host(fusion::Segment& segment, std::size_t& at, Within within) {
    for (; at < run_.host.size() && within(run_.host[at]); ++at) {
      const HostPiece& piece = run_.host[at];
      const std::int64_t ns = piece.end - piece.start;
      if (piece.wait) {
        segment.waits_ns += ns;
        continue;
      }
      const std::uint32_t row = name(piece.name);
      if (row != fusion::kNoRow) ++segment.records;
      auto share = std::find_if(segment.host.begin(), segment.host.end(), [&](const auto& s) {
        return s.name == row && s.kind == piece.kind && s.cause == piece.cause;
      });
      if (share == segment.host.end()) {
        share = segment.host.insert(share, {row, piece.kind, piece.cause, 0, 0, 0, fusion::kNoRow});
      }
      ++share->count;
      share->ns += ns;
      share->longest_ns = std::max(share->longest_ns, ns);
    }
    std::stable_sort(segment.host.begin(), segment.host.end(),
                     [](const auto& a, const auto& b) { return a.ns > b.ns; });
  }

  void steps() {
    std::vector<Interval> communication;
    for (const CollectivePiece& piece : run_.collectives) communication.push_back({piece.start, piece.end});
    const IntervalSet exposed = IntervalSet::from_unsorted(std::move(communication)).minus(compute_);
    std::size_t kernel = 0;
    std::size_t host = 0;
    for (std::uint32_t step = 0; step < plan_.steps; ++step) {
      fusion::DigestStep one;
      one.number = step;
      one.host = {clock_.at(run_.step_starts[step]), clock_.at(run_.step_starts[step + 1])};
      const std::size_t begin = kernel;
      one.work.kernels = kernels(kernel, [&](const KernelPiece& k) { return k.step == step; });
      const std::int64_t first = run_.kernels[begin].start;
      const std::int64_t last = run_.kernels[kernel - 1].end;
      const Interval time{first, kernel < run_.kernels.size() ? run_.kernels[kernel].start : last};
      one.device = {clock_.at(first), clock_.at(last)};
      one.work.whole = true;
      one.work.device_ns = time.length_ns();
      one.work.compute_ns = compute_.clipped(time).total_ns();
      one.work.host_ns = one.host.length_ns();
      one.communication_exposed_ns = exposed.clipped(time).total_ns();
      fill_host(one.work, host, [&](const HostPiece& h) { return h.step == step; });
      if (step >= first_step_) digest_.steps.push_back(std::move(one));
    }
    digest_.time_range = {clock_.at(run_.step_starts[first_step_]), clock_.at(run_.step_starts.back())};
  }

  void timing() {
    double measured = 0, host = 0, device = 0;
    for (const fusion::DigestStep& step : digest_.steps) {
      measured += static_cast<double>(step.host.length_ns());
      host += static_cast<double>(step.work.host_ns - step.work.waits_ns);
      device += static_cast<double>(step.work.compute_ns);
    }
    const double count = static_cast<double>(digest_.steps.size());
    fusion::RankTiming& timing = digest_.timing;
    timing.measured_step_ns = measured / count;
    timing.step = {measured / count, 0.9 * measured / count, 1.1 * measured / count};
    timing.host = {host / count, host / count, host / count};
    timing.device = {device / count, device / count, device / count};
    timing.paced_by_device = plan_.compute_ms > plan_.host_ms;
  }

  const JobPlan& plan_;
  const RankRun& run_;
  std::uint32_t rank_;
  RecordingClock clock_;
  Draws draw_;
  std::uint32_t first_step_ = 0;
  IntervalSet compute_;
  std::map<std::string, std::uint32_t> names_;
  fusion::RankDigest digest_;
};

inline std::vector<fusion::RankDigest> digests_of(const JobPlan& plan, const JobRun& run) {
  std::vector<fusion::RankDigest> digests;
  digests.reserve(plan.ranks);
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    if (rank != plan.missing_rank) digests.push_back(DigestMaker(plan, run.ranks[rank], rank).make());
  }
  return digests;
}

}  // namespace accel::testing
