#include "fusion/topology/topology.h"

#include <fmt/format.h>

#include <algorithm>

#include "fusion/topology/lines.h"
#include "fusion/topology/readers.h"

namespace accel::fusion {

bool slower(const Link& a, const Link& b) {
  if (a.kind != b.kind) return a.kind > b.kind;
  return a.kind == LinkKind::nvlink && a.lanes < b.lanes;
}

std::string to_string(const Link& link) {
  switch (link.kind) {
    case LinkKind::self:
      return "X";
    case LinkKind::nvlink:
      return fmt::format("NV{}", link.lanes);
    case LinkKind::pix:
      return "PIX";
    case LinkKind::pxb:
      return "PXB";
    case LinkKind::phb:
      return "PHB";
    case LinkKind::node:
      return "NODE";
    case LinkKind::sys:
      return "SYS";
    case LinkKind::network:
      return "NET";
    case LinkKind::unknown:
      break;
  }
  return "?";
}

std::optional<std::size_t> Topology::gpu(std::int64_t index) const {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].is_gpu && devices[i].index == index) return i;
  }
  return std::nullopt;
}

std::size_t Topology::gpu_count() const {
  return static_cast<std::size_t>(
      std::count_if(devices.begin(), devices.end(), [](const TopologyDevice& device) { return device.is_gpu; }));
}

Result<TopologyDevice*> gpu_of_index(Topology& topology, std::int64_t index) {
  if (const auto at = topology.gpu(index)) return &topology.devices[*at];
  const std::size_t count = topology.devices.size();
  if (count >= kMostTopologyDevices)
    return Error{ErrorCode::out_of_range, fmt::format("the text names more than {} devices", kMostTopologyDevices), ""};
  TopologyDevice device;
  device.name = fmt::format("GPU{}", index);
  device.is_gpu = true;
  device.index = index;
  topology.devices.push_back(std::move(device));
  std::vector<Link> links((count + 1) * (count + 1));
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b < count; ++b) links[a * (count + 1) + b] = topology.links[a * count + b];
  }
  links.back().kind = LinkKind::self;
  topology.links = std::move(links);
  return &topology.devices.back();
}

Result<void> add_to_topology(Topology& topology, std::string_view text, const std::string& source) {
  if (text.size() > kLargestTopologyText)
    return Error{ErrorCode::out_of_range, "the file is too large to be a topology of nvidia-smi", source};
  const std::vector<std::string> lines = plain_lines(text);
  bool any = false;
  for (const auto read : {read_matrix, read_nvlink_status, read_gpu_query}) {
    const Result<bool> found = read(lines, topology);
    if (!found) return Error{found.error().code, found.error().message, source};
    any = any || *found;
  }
  if (!any) {
    return Error{ErrorCode::not_a_trace,
                 "this is no topology: it holds neither the matrix of \"nvidia-smi topo -m\" nor the links of "
                 "\"nvidia-smi nvlink -s\"",
                 source};
  }
  topology.source += (topology.source.empty() ? "" : ", ") + source;
  return {};
}

Result<Topology> read_topology(std::string_view text, const std::string& source) {
  Topology topology;
  if (auto added = add_to_topology(topology, text, source); !added) return added.error();
  return topology;
}

}  // namespace accel::fusion
