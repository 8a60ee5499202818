#include "report/perfetto/job_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace accel::report {

JobAxis::JobAxis(const fusion::Job& job) : job_(job), members_(job.set.ranks.size()) {
  std::int64_t first = 0;
  for (std::size_t row = 0; row < job.set.ranks.size(); ++row) {
    const auto rank = static_cast<std::uint32_t>(row);
    first = std::min(first, job.clocks.common_ns(rank, job.set.ranks[row].time_range.start_ns));
  }
  shift_ns_ = 0 - first;
  for (std::size_t i = 0; i < job.matching.collectives.size(); ++i) {
    for (const fusion::Member& member : job.matching.collectives[i].members)
      members_[member.rank].push_back({member.event, i + 1});
  }
}

RankOnAxis JobAxis::of(std::size_t row, const TraceStore& store) const {
  const auto rank = static_cast<std::uint32_t>(row);
  const fusion::RankDigest& digest = job_.set.ranks[row];
  const fusion::HostClock& clock = job_.clocks.hosts[job_.clocks.host_of_rank[rank]];
  RankOnAxis axis;
  axis.name = fmt::format("rank {}", job_.set.rank_of(row));
  if (!digest.host.empty()) axis.name += fmt::format(" on {}", digest.host);
  if (!clock.aligned) axis.name += ", clock not aligned";
  const bool is_reference = job_.clocks.host_of_rank[rank] == 0;
  axis.description = is_reference    ? fmt::format("clock of {}: {}", clock.host, clock.method)
                     : clock.aligned ? fmt::format("clock of {}: {}, off by at most {:.1f} us", clock.host,
                                                   clock.method, clock.residual_ns() / 1e3)
                                     : fmt::format("clock of {} not aligned: {}", clock.host, clock.method);
  axis.common_ns = [this, rank](std::int64_t ns) { return job_.clocks.common_ns(rank, ns) + shift_ns_; };

  // An event of the digest is a record of the trace: found again by its times and its place.
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;  // start, end, device, stream
  std::map<Key, std::uint64_t> on_device;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint64_t> on_host;
  for (const Member& member : members_[row]) {
    const fusion::CommunicationEvent& event = digest.events[member.event];
    if (event.place == fusion::EventPlace::device) {
      on_device[{event.start_ns, event.end_ns, event.device, event.stream}] = member.flow;
    } else {
      on_host[{event.start_ns, event.end_ns}] = member.flow;
    }
  }
  const DeviceEventTable& events = store.device_events;
  for (std::uint32_t i = 0; i < events.size() && !on_device.empty(); ++i) {
    if (!events.stream[i].valid()) continue;
    const StreamRow stream = store.streams.row(events.stream[i].value);
    const auto at =
        on_device.find({events.start_ns[i], events.start_ns[i] + events.dur_ns[i], stream.device, stream.stream});
    if (at != on_device.end()) axis.flow_of_event[i] = at->second;
  }
  for (std::uint32_t i = 0; i < store.slices.size() && !on_host.empty(); ++i) {
    const auto at = on_host.find({store.slices.start_ns[i], store.slices.start_ns[i] + store.slices.dur_ns[i]});
    if (at == on_host.end()) continue;
    axis.flow_of_slice[i] = at->second;
    on_host.erase(at);  // the outermost of equal times
  }
  return axis;
}

}  // namespace accel::report
