#include "fusion/rank_plan/rank_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace accel::fusion {
namespace {

constexpr std::int64_t kMostWorld = 1 << 20;
constexpr std::size_t kMostMissing =
    4;  // of the ranks without a digest: more of them say that digests are not collected

class Planner {
 public:
  explicit Planner(const RankPlanRequest& request)
      : request_(request), stage_ranks_(request.world_size / request.pipeline_stages) {}

  std::vector<PlannedRank> plan() {
    for (const std::int64_t rank : request_.suspects) add(rank, "suspected by the digests", true);
    add(0, "first rank: it logs, saves and often loads for the others", true);
    add(request_.world_size - 1, "last rank", true);
    for (const std::int64_t rank : request_.suspects) add_peer(rank);
    add_stages();
    add_boundaries();
    std::vector<PlannedRank> out;
    for (const auto& [rank, reasons] : planned_) out.push_back({rank, reasons});
    return out;
  }

 private:
  bool full() const { return static_cast<std::int64_t>(planned_.size()) >= request_.most; }

  bool add(std::int64_t rank, const std::string& reason, bool always = false) {
    if (rank < 0 || rank >= request_.world_size) return false;
    const auto at = planned_.find(rank);
    if (at == planned_.end()) {
      if (full() && !always) return false;
      planned_[rank] = reason;
    } else if (at->second.find(reason) == std::string::npos) {
      at->second += "; " + reason;
    }
    return true;
  }

  std::int64_t stage_of(std::int64_t rank) const {
    if (request_.stage.empty()) return rank / stage_ranks_;
    const auto row = static_cast<std::size_t>(rank);
    return row < request_.stage.size() && request_.stage[row] != kNoRow ? std::int64_t{request_.stage[row]} : -1;
  }

  // A rank that is late shows why only against one that does the same work: of its stage, and of its host if possible.
  void add_peer(std::int64_t rank) {
    const std::int64_t stage = stage_of(rank);
    const auto fits = [&](std::int64_t peer) {
      return peer >= 0 && peer < request_.world_size && stage_of(peer) == stage &&
             !std::binary_search(request_.suspects.begin(), request_.suspects.end(), peer);
    };
    const auto same_host = [&](std::int64_t peer) {
      return request_.ranks_per_host > 0 && peer / request_.ranks_per_host == rank / request_.ranks_per_host;
    };
    const std::string reason = fmt::format("peer of rank {}, to compare it with", rank);
    for (const bool of_host : {true, false}) {
      for (const std::int64_t apart : {1, -1, 2, -2, 3, -3}) {
        const std::int64_t peer = rank + apart;
        if (!fits(peer) || same_host(peer) != of_host) continue;
        add(peer, reason);
        return;
      }
    }
  }

  void add_stages() {
    const auto name = [&](std::int64_t rank, std::int64_t stage) {
      return add(rank, fmt::format("first rank of pipeline stage {}", stage));
    };
    if (request_.stage.empty()) {
      for (std::int64_t stage = 0; request_.pipeline_stages > 1 && stage < request_.pipeline_stages; ++stage)
        if (!name(stage * stage_ranks_, stage)) return;
      return;
    }
    std::set<std::int64_t> named;
    for (std::int64_t rank = 0; rank < static_cast<std::int64_t>(request_.stage.size()); ++rank) {
      const std::int64_t stage = stage_of(rank);
      if (stage >= 0 && named.insert(stage).second && !name(rank, stage)) return;
    }
  }

  // The two ranks on both sides of a boundary between hosts: a ring crosses the network there. Halves of the job, then
  // quarters, and so on, so that any number of them is spread evenly.
  void add_boundaries() {
    const std::int64_t per_host = request_.ranks_per_host;
    if (per_host <= 0 || per_host >= request_.world_size) return;
    const std::int64_t boundaries = (request_.world_size - 1) / per_host;
    std::set<std::int64_t> taken;
    for (std::int64_t parts = 2; !full() && static_cast<std::int64_t>(taken.size()) < boundaries; parts *= 2) {
      for (std::int64_t i = 1; i < parts && !full(); i += 2) {
        const std::int64_t boundary = 1 + boundaries * i / parts;
        if (!taken.insert(boundary).second) continue;
        add(boundary * per_host - 1, fmt::format("last rank of host {}: the network begins there", boundary - 1));
        add(boundary * per_host, fmt::format("first rank of host {}: the network ends there", boundary));
      }
      if (parts > 4 * boundaries) break;
    }
  }

  const RankPlanRequest& request_;
  std::int64_t stage_ranks_;
  std::map<std::int64_t, std::string> planned_;
};

}  // namespace

std::string fault_of(const RankPlanRequest& request) {
  if (request.world_size < 1 || request.world_size > kMostWorld)
    return fmt::format("a job has 1 to {} ranks", kMostWorld);
  if (request.ranks_per_host < 0) return "a host has at least one rank";
  if (request.pipeline_stages < 1 || request.pipeline_stages > request.world_size ||
      request.world_size % request.pipeline_stages != 0)
    return fmt::format("{} ranks do not make {} stages of equal size", request.world_size, request.pipeline_stages);
  if (request.most < 1) return "at least one rank must be recorded";
  return {};
}

std::vector<PlannedRank> plan_ranks(const RankPlanRequest& request) {
  RankPlanRequest ordered = request;
  std::sort(ordered.suspects.begin(), ordered.suspects.end());
  ordered.suspects.erase(std::unique(ordered.suspects.begin(), ordered.suspects.end()), ordered.suspects.end());
  return Planner(ordered).plan();
}

std::vector<std::uint32_t> stages_of(const Job& job) {
  std::vector<std::uint32_t> stages;
  if (std::all_of(job.set.stage.begin(), job.set.stage.end(), [](std::uint32_t stage) { return stage == 0; }))
    return stages;
  for (std::size_t row = 0; row < job.set.ranks.size(); ++row) {
    const auto rank = static_cast<std::size_t>(job.set.rank_of(row));
    if (rank >= stages.size()) stages.resize(rank + 1, kNoRow);
    stages[rank] = job.set.stage[row];
  }
  return stages;
}

std::int64_t ranks_per_host_of(const Job& job) {
  std::size_t most = 0;
  for (const HostClock& clock : job.clocks.hosts)
    if (clock.host_known) most = std::max(most, clock.ranks.size());
  return static_cast<std::int64_t>(most);
}

std::vector<std::int64_t> suspects_of(const Job& job) {
  std::set<std::int64_t> ranks;
  for (const Straggler& straggler : job.stragglers.stragglers) ranks.insert(job.set.rank_of(straggler.ranks.front()));
  for (const Divergence& divergence : job.matching.divergences)
    if (!divergence.ranks.empty()) ranks.insert(divergence.ranks.front());
  if (job.set.missing.size() <= kMostMissing) ranks.insert(job.set.missing.begin(), job.set.missing.end());
  return {ranks.begin(), ranks.end()};
}

}  // namespace accel::fusion
