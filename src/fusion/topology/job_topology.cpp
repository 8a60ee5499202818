#include "fusion/topology/job_topology.h"

#include <algorithm>
#include <map>

namespace accel::fusion {
namespace {

// The device on which a rank communicates in a group.
std::optional<std::int64_t> device_in(const RankDigest& digest, const MatchedGroup& group) {
  for (const CommunicationEvent& event : digest.events) {
    if (event.place != EventPlace::device || event.device < 0 || event.group >= digest.groups.size()) continue;
    if (digest.groups[event.group].name == group.name) return event.device;
  }
  return std::nullopt;
}

// A group of gloo or mpi communicates between processes: no device, no link between devices.
bool on_hosts(const RankDigest& digest, const MatchedGroup& group) {
  return std::any_of(digest.events.begin(), digest.events.end(), [&](const CommunicationEvent& event) {
    return event.place == EventPlace::host && event.group < digest.groups.size() &&
           digest.groups[event.group].name == group.name;
  });
}

Path path_of(const RankSet& set, const MatchedGroup& group, const Topology* topology) {
  std::vector<Endpoint> ends;
  for (const std::uint32_t row : group.present) {
    const RankDigest& digest = set.ranks[row];
    Endpoint end;
    end.rank = set.rank_of(row);
    end.host = digest.host;
    end.device = device_in(digest, group);
    if (!end.device && on_hosts(digest, group)) {
      Path path;
      path.reason = "the group communicates between processes on the host (" +
                    (digest.backend.empty() ? std::string("gloo or mpi") : digest.backend) + "), not between devices";
      return path;
    }
    for (const DigestDevice& device : digest.devices)
      if (device.index == end.device) end.product = device.name;
    ends.push_back(std::move(end));
  }
  if (!group.ranks.empty() && group.ranks.size() > ends.size() && ends.size() < 2) {
    Path path;
    path.reason = "only one rank of the group is here";
    return path;
  }
  return path_around(topology, ends);
}

void measure(const CollectiveMatching& matching, const std::vector<CollectiveTiming>& timings, JobTopology& job) {
  std::vector<std::vector<double>> reached(job.groups.size());
  for (std::size_t i = 0; i < timings.size() && i < matching.collectives.size(); ++i) {
    const MatchedCollective& one = matching.collectives[i];
    if (!one.in_complete_step || !one.complete || !timings[i].busbw_bytes_per_s) continue;
    if (one.bytes < large_collective_bytes(one.members.size())) continue;
    reached[one.group].push_back(*timings[i].busbw_bytes_per_s / 1e9);
  }
  for (std::size_t g = 0; g < reached.size(); ++g) {
    std::vector<double>& values = reached[g];
    job.groups[g].large = values.size();
    if (values.empty()) continue;
    std::sort(values.begin(), values.end());
    job.groups[g].achieved_gbps = values[(values.size() - 1) * 9 / 10];
    job.groups[g].typical_gbps = values[(values.size() - 1) / 2];
  }
}

}  // namespace

JobTopology place_groups(const RankSet& set, const CollectiveMatching& matching,
                         const std::vector<CollectiveTiming>& timings, std::optional<Topology> topology) {
  JobTopology job;
  job.topology = std::move(topology);
  for (const MatchedGroup& group : matching.groups) {
    GroupPath entry;
    entry.path = path_of(set, group, job.topology ? &*job.topology : nullptr);
    job.groups.push_back(std::move(entry));
  }
  measure(matching, timings, job);
  return job;
}

}  // namespace accel::fusion
