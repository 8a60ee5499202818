#include "report/build_topology.h"

#include <fmt/format.h>

#include "report/build_parts.h"

namespace accel::report {
namespace {

Text text_or_null(const std::string& text) { return text.empty() ? Text() : Text(valid_utf8(text)); }

TopologyDevice device_entry(const fusion::TopologyDevice& device) {
  TopologyDevice entry;
  entry.name = valid_utf8(device.name);
  if (device.is_gpu) entry.index = device.index;
  entry.product = text_or_null(device.is_gpu ? device.product : device.card);
  entry.pci = text_or_null(device.pci);
  entry.cpu_affinity = text_or_null(device.cpu_affinity);
  entry.numa = text_or_null(device.numa);
  if (device.pcie_generation) entry.pcie_generation = *device.pcie_generation;
  if (device.pcie_width) entry.pcie_width = *device.pcie_width;
  if (!device.nvlinks_gbps.empty() || device.nvlinks_inactive > 0)
    entry.nvlinks = static_cast<std::int64_t>(device.nvlinks_gbps.size());
  return entry;
}

// Between devices of the topology, with what the traces say of their product.
fusion::Endpoint end_of(const fusion::TopologyDevice& device, const fusion::Job& job) {
  fusion::Endpoint end{device.index, "", device.index, device.product};
  for (const fusion::RankDigest& digest : job.set.ranks) {
    for (const fusion::DigestDevice& seen : digest.devices)
      if (end.product.empty() && seen.index == device.index) end.product = seen.name;
  }
  return end;
}

TopologyLink link_entry(const fusion::Topology& topology, std::size_t a, std::size_t b, const fusion::Job& job) {
  TopologyLink entry;
  entry.a = valid_utf8(topology.devices[a].name);
  entry.b = valid_utf8(topology.devices[b].name);
  fusion::Path path;
  path.link = topology.link(a, b);
  if (topology.devices[a].is_gpu && topology.devices[b].is_gpu)
    path = fusion::path_between(&topology, end_of(topology.devices[a], job), end_of(topology.devices[b], job));
  else if (path.link.kind == fusion::LinkKind::unknown)
    path.reason = "the topology does not say how the two devices are connected";
  entry.link = fusion::to_string(path.link);
  entry.path = valid_utf8(fusion::describe(path));
  if (path.expected_gbps) {
    entry.expected_gbps = number(*path.expected_gbps);
    entry.basis = path.basis;
  }
  return entry;
}

TopologyGroup group_entry(const fusion::MatchedGroup& group, const fusion::GroupPath& found) {
  TopologyGroup entry;
  entry.group = valid_utf8(group.name.empty() ? "all ranks" : group.name);
  entry.path = valid_utf8(fusion::describe(found.path));
  entry.between = text_or_null(found.path.between);
  if (found.path.expected_gbps) entry.expected_gbps = number(*found.path.expected_gbps);
  entry.sentence = valid_utf8(fusion::describe_with_speed(found.path));
  if (!found.achieved_gbps) return entry;
  const fusion::PathUse use = fusion::use_of_path(found.path, *found.achieved_gbps);
  entry.achieved_gbps = number(use.achieved_gbps);
  if (use.share) entry.share = number(*use.share);
  entry.sentence = valid_utf8(use.sentence);
  return entry;
}

}  // namespace

void add_topology(Document& document, const fusion::Job& job) {
  if (!job.topology.topology) return;
  const fusion::Topology& topology = *job.topology.topology;
  Topology entry;
  entry.source = valid_utf8(topology.source);
  for (const fusion::TopologyDevice& device : topology.devices) entry.devices.push_back(device_entry(device));
  for (std::size_t a = 0; a < topology.devices.size(); ++a) {
    for (std::size_t b = a + 1; b < topology.devices.size(); ++b)
      entry.links.push_back(link_entry(topology, a, b, job));
  }
  for (std::size_t g = 0; g < job.topology.groups.size(); ++g)
    entry.groups.push_back(group_entry(job.matching.groups[g], job.topology.groups[g]));
  for (const std::string& doubt : topology.doubts) entry.doubts.push_back(valid_utf8(doubt));
  document.topology = std::move(entry);
}

}  // namespace accel::report
