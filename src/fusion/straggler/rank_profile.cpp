#include "fusion/straggler/rank_profile.h"

#include <algorithm>
#include <cmath>

#include "fusion/straggler/statistics.h"

namespace accel::fusion {
namespace {

// An excess counts from this share of a step on, and from this share of what the peers take: less is how two processes
// on two cores differ anyway.
constexpr double kExcessOfStep = 0.01;
constexpr double kExcessOfPeers = 0.3;
// The same device work is slower from this share on.
constexpr double kSlower = 0.03;
// One host, or its recorder, may be slower in everything by up to this; that is no cause of its own.
constexpr double kMostGeneral = 3;
constexpr double kManyTimes = 10;  // places that occur so often show the general pace

template <typename Map>
RankProfile::Share median_share(const std::vector<const RankProfile*>& peers, Map RankProfile::* map,
                                const typename Map::key_type& key) {
  std::vector<double> ns, count, longest;
  for (const RankProfile* peer : peers) {
    const auto at = (peer->*map).find(key);
    const bool there = at != (peer->*map).end();
    ns.push_back(there ? at->second.ns : 0);
    count.push_back(there ? at->second.count : 0);
    longest.push_back(there ? at->second.longest_ns : 0);
  }
  return {median_of(ns), median_of(count), median_of(longest), {}};
}

// How much slower this host is in everything: the weighted median over places that occur often.
double general_pace(const RankProfile& own, const std::vector<const RankProfile*>& peers) {
  std::vector<std::pair<double, double>> ratios;  // ratio, weight
  double all = 0;
  for (const auto& [key, share] : own.host) {
    const RankProfile::Share peer = median_share(peers, &RankProfile::host, key);
    if (share.count < kManyTimes || peer.count < kManyTimes || peer.ns <= 0) continue;
    // Per occurrence, and without the one longest: that is a cause, not a pace.
    const double mine = (share.ns - share.longest_ns) / share.count;
    const double theirs = (peer.ns - peer.longest_ns) / peer.count;
    if (mine <= 0 || theirs <= 0) continue;
    ratios.emplace_back(mine / theirs, peer.ns);
    all += peer.ns;
  }
  std::sort(ratios.begin(), ratios.end());
  double seen = 0;
  for (const auto& [ratio, weight] : ratios) {
    seen += weight;
    if (seen >= all / 2) return std::clamp(ratio, 1.0, kMostGeneral);
  }
  return 1;
}

void sort_causes(std::vector<LateCause>& causes) {
  std::stable_sort(causes.begin(), causes.end(),
                   [](const LateCause& a, const LateCause& b) { return a.excess_ns() > b.excess_ns(); });
}

}  // namespace

RankProfile profile_of(const RankDigest& digest, const std::vector<std::int64_t>& steps) {
  RankProfile profile;
  for (const DigestStep& step : digest.steps) {
    if (!step.complete || !std::binary_search(steps.begin(), steps.end(), step.number)) continue;
    ++profile.steps;
    profile.host_ns += static_cast<double>(std::max<std::int64_t>(0, step.work.host_ns - step.work.waits_ns));
    profile.device_ns += static_cast<double>(step.work.compute_ns + step.work.memory_ns);
    profile.memory_ns += static_cast<double>(step.work.memory_ns);
    profile.exposed_ns += static_cast<double>(step.communication_exposed_ns);
    for (const HostShare& share : step.work.host) {
      RankProfile::Share& into = profile.host[{digest.text(share.name), share.kind, share.cause}];
      into.ns += static_cast<double>(share.ns);
      into.count += share.count;
      const auto longest = static_cast<double>(share.longest_ns);
      if (longest > 0 && into.before.empty()) into.before = digest.text(share.before);
      into.longest_ns += longest;
    }
    for (const KernelShare& share : step.work.kernels) {
      RankProfile::Share& into = profile.kernels[{digest.text(share.name), digest.text(share.shape)}];
      into.ns += static_cast<double>(share.ns);
      into.count += share.count;
    }
  }
  const double count = static_cast<double>(std::max<std::size_t>(1, profile.steps));
  for (double* sum : {&profile.host_ns, &profile.device_ns, &profile.memory_ns, &profile.exposed_ns}) *sum /= count;
  for (auto& [key, share] : profile.host) {
    share.ns /= count;
    share.count /= count;
    share.longest_ns /= count;
  }
  for (auto& [key, share] : profile.kernels) {
    share.ns /= count;
    share.count /= count;
  }
  return profile;
}

std::vector<LateCause> host_differences(const RankProfile& own, const std::vector<const RankProfile*>& peers,
                                        double step_ns) {
  std::vector<LateCause> causes;
  const double pace = general_pace(own, peers);
  for (const auto& [key, share] : own.host) {
    const RankProfile::Share peer = median_share(peers, &RankProfile::host, key);
    const auto& [name, kind, cause] = key;
    LateCause found;
    found.cause = cause;
    found.own_count = share.count;
    found.peers_count = peer.count;
    // One stretch that the peers do not have: its length is not the recorder's, which works at records.
    const double stretch = share.longest_ns - pace * peer.longest_ns;
    const double all = share.ns - pace * peer.ns;
    const double needed = kExcessOfStep * step_ns;
    if (name.empty() && stretch >= needed && stretch >= all / 2) {
      found.kind = LateCause::Kind::host_gap;
      found.name = share.before;
      found.own_ns = share.longest_ns;
      found.peers_ns = peer.longest_ns;
    } else if (all >= needed + kExcessOfPeers * pace * peer.ns) {
      found.kind = LateCause::Kind::host_work;
      found.name = name;
      found.own_ns = share.ns;
      found.peers_ns = pace * peer.ns;
    } else {
      continue;
    }
    causes.push_back(std::move(found));
  }
  sort_causes(causes);
  return causes;
}

std::vector<LateCause> device_differences(const RankProfile& own, const std::vector<const RankProfile*>& peers,
                                          double step_ns) {
  std::vector<LateCause> causes;
  const double needed = kExcessOfStep * step_ns;
  for (const auto& [key, share] : own.kernels) {
    const RankProfile::Share peer = median_share(peers, &RankProfile::kernels, key);
    LateCause found;
    found.name = key.first;
    found.shape = key.second;
    found.own_ns = share.ns;
    found.peers_ns = peer.ns;
    found.own_count = share.count;
    found.peers_count = peer.count;
    if (share.ns - peer.ns < needed) continue;
    const double slower = peer.count > 0 ? share.ns / share.count - peer.ns / peer.count : 0;
    const bool same_count = std::abs(share.count - peer.count) < 0.5;
    found.kind = same_count ? LateCause::Kind::slower_kernels : LateCause::Kind::more_kernels;
    if (same_count && slower * share.count < kSlower * peer.ns) continue;
    causes.push_back(std::move(found));
  }
  std::vector<double> copies;
  copies.reserve(peers.size());
  for (const RankProfile* peer : peers) copies.push_back(peer->memory_ns);
  const double usual = median_of(copies);
  if (own.memory_ns - usual >= needed && causes.empty()) {
    LateCause found;
    found.kind = LateCause::Kind::copies;
    found.own_ns = own.memory_ns;
    found.peers_ns = usual;
    causes.push_back(std::move(found));
  }
  sort_causes(causes);
  return causes;
}

}  // namespace accel::fusion
