#include "fusion/straggler/rank_profile.h"

#include <algorithm>
#include <charconv>
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
// So many places that take longer, as often as on the peers and none of them most of it, are one cause: the host.
constexpr std::size_t kManyPlaces = 3;
constexpr double kMostOfIt = 0.5;
constexpr double kSameCount = 0.02;
constexpr double kFewest = 0.5;  // launches a step: fewer is a step with one more

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

bool as_often(const LateCause& cause) {
  return std::abs(cause.own_count - cause.peers_count) <= kFewest + kSameCount * cause.peers_count;
}

// Joins what a host that is slower in many places makes longer.
void join_slower_places(std::vector<LateCause>& causes) {
  const auto slower = [](const LateCause& cause) {
    return cause.kind == LateCause::Kind::host_work && cause.peers_ns > 0 && as_often(cause);
  };
  double all = 0;
  for (const LateCause& cause : causes) all += cause.excess_ns();
  const auto places = static_cast<std::size_t>(std::count_if(causes.begin(), causes.end(), slower));
  if (places < kManyPlaces || causes.front().excess_ns() > kMostOfIt * all) return;
  LateCause joined;
  joined.kind = LateCause::Kind::slower_host;
  joined.cause = IdleCause::host_compute;
  std::size_t named = 0;
  for (const LateCause& cause : causes) {
    if (!slower(cause)) continue;
    if (named++ < kManyPlaces) joined.name += (joined.name.empty() ? "" : ", ") + cause.name;
    joined.own_ns += cause.own_ns;
    joined.peers_ns += cause.peers_ns;
  }
  joined.own_count = joined.peers_count = static_cast<double>(places);
  std::erase_if(causes, slower);
  causes.push_back(std::move(joined));
}

std::vector<std::int64_t> numbers_in(std::string_view shape) {
  std::vector<std::int64_t> numbers;
  for (std::size_t at = 0; at < shape.size();) {
    if (shape[at] < '0' || shape[at] > '9') {
      ++at;
      continue;
    }
    std::int64_t number = 0;
    const auto end = std::from_chars(shape.data() + at, shape.data() + shape.size(), number).ptr;
    at = static_cast<std::size_t>(end - shape.data());
    numbers.push_back(number);
  }
  return numbers;
}

// Alike but for sizes that are all larger by one and the same factor.
bool larger_by_one_factor(std::string_view own, std::string_view peer) {
  const std::vector<std::int64_t> a = numbers_in(own);
  const std::vector<std::int64_t> b = numbers_in(peer);
  if (a.size() != b.size()) return false;
  double factor = 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (b[i] <= 0 || a[i] < b[i]) return false;
    const double here = static_cast<double>(a[i]) / static_cast<double>(b[i]);
    if (factor > 1 && std::abs(here - factor) > kSameCount * factor) return false;
    factor = here;
  }
  return factor > 1;
}

// Kernels that no peer launches may be what the peers launch on smaller inputs.
void find_larger_shapes(const RankProfile& own, const RankProfile& peer, std::vector<LateCause>& causes) {
  for (LateCause& cause : causes) {
    if (cause.kind != LateCause::Kind::more_kernels || cause.peers_count > 0 || cause.shape.empty()) continue;
    for (const auto& [key, share] : peer.kernels) {
      if (own.kernels.contains(key) || std::abs(share.count - cause.own_count) > kFewest) continue;
      if (!larger_by_one_factor(cause.shape, key.second)) continue;
      cause.kind = LateCause::Kind::larger_shapes;
      cause.peers_shape = key.second;
      cause.peers_count = share.count;
      cause.peers_ns = share.ns;
      break;
    }
  }
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
  join_slower_places(causes);
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
    const bool same_count = std::abs(share.count - peer.count) < kFewest;
    found.kind = same_count ? LateCause::Kind::slower_kernels : LateCause::Kind::more_kernels;
    if (same_count && slower * share.count < kSlower * peer.ns) continue;
    causes.push_back(std::move(found));
  }
  if (!peers.empty()) find_larger_shapes(own, *peers.front(), causes);
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
