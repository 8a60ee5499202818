#include "fusion/topology/path.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "fusion/topology/link_speed.h"

namespace accel::fusion {
namespace {

Path unknown_path(std::string reason) {
  Path path;
  path.reason = std::move(reason);
  return path;
}

const std::string& product_of(const TopologyDevice& device, const Endpoint& end) {
  return device.product.empty() ? end.product : device.product;
}

// All links between GPUs alike: then it does not matter which of them two ranks have.
std::optional<Link> only_link(const Topology& topology) {
  std::optional<Link> link;
  for (std::size_t a = 0; a < topology.devices.size(); ++a) {
    for (std::size_t b = a + 1; b < topology.devices.size(); ++b) {
      if (!topology.devices[a].is_gpu || !topology.devices[b].is_gpu) continue;
      if (link && !(*link == topology.link(a, b))) return std::nullopt;
      link = topology.link(a, b);
    }
  }
  return link;
}

void nvlink_speed(Path& path, const TopologyDevice& device, const Endpoint& end) {
  const auto product = links_of_product(product_of(device, end));
  if (product && product->nvlink_generation > 0) path.nvlink_generation = product->nvlink_generation;
  const auto lanes = static_cast<std::size_t>(path.link.lanes);
  if (device.nvlinks_gbps.size() >= lanes) {
    // Which of a device's links lead to the other end is not stated: the slowest ones may.
    std::vector<double> speeds = device.nvlinks_gbps;
    std::sort(speeds.begin(), speeds.end());
    path.expected_gbps = std::accumulate(speeds.begin(), speeds.begin() + path.link.lanes, 0.0);
    path.basis = "speed of the links as nvidia-smi nvlink -s states it";
    path.basis_zh = "按 nvidia-smi nvlink -s 给出的链路速率";
  } else if (path.nvlink_generation) {
    path.expected_gbps = product->nvlink_gbps * path.link.lanes;
    path.basis = "by the product's data sheet";
    path.basis_zh = "按产品数据表";
  }
}

void pcie_speed(Path& path, const TopologyDevice& device, const Endpoint& end) {
  path.pcie_generation = device.pcie_generation;
  path.pcie_width = device.pcie_width;
  path.basis = "generation and width as nvidia-smi states them";
  path.basis_zh = "按 nvidia-smi 给出的代数与宽度";
  const auto product = links_of_product(product_of(device, end));
  if (!path.pcie_generation && product) {
    path.pcie_generation = product->pcie_generation;
    path.basis = path.pcie_width ? "generation by the product's data sheet, width as nvidia-smi states it"
                                 : "at most, by the product's data sheet: 16 lanes; what the slot gives is not stated";
    path.basis_zh =
        path.pcie_width ? "代数按产品数据表，宽度按 nvidia-smi" : "上限，按产品数据表（16 条通道；插槽实际宽度未知）";
  } else if (path.pcie_generation && !path.pcie_width) {
    path.basis = "at most: 16 lanes; the width is not stated";
    path.basis_zh = "上限（16 条通道；宽度未知）";
  }
  if (path.pcie_generation) path.expected_gbps = pcie_gbps(*path.pcie_generation, path.pcie_width.value_or(16));
}

void set_speed(Path& path, const TopologyDevice& device, const Endpoint& end) {
  switch (path.link.kind) {
    case LinkKind::nvlink:
      return nvlink_speed(path, device, end);
    case LinkKind::pix:
    case LinkKind::pxb:
    case LinkKind::phb:
    case LinkKind::node:
    case LinkKind::sys:
      return pcie_speed(path, device, end);
    case LinkKind::self:
    case LinkKind::network:
    case LinkKind::unknown:
      return;
  }
}

// Both ends must carry the traffic: the slower one's figures count.
Path with_speed(const Link& link, const TopologyDevice& a, const Endpoint& end_a, const TopologyDevice& b,
                const Endpoint& end_b) {
  Path first;
  first.link = link;
  first.between = a.name + " and " + b.name;
  Path second = first;
  set_speed(first, a, end_a);
  set_speed(second, b, end_b);
  if (!first.expected_gbps || !second.expected_gbps) return first.expected_gbps ? first : second;
  return *second.expected_gbps < *first.expected_gbps ? second : first;
}

std::string no_topology() { return "no output of nvidia-smi topo -m was given"; }

}  // namespace

Path path_between(const Topology* topology, const Endpoint& a, const Endpoint& b) {
  if (!a.host.empty() && !b.host.empty() && a.host != b.host) {
    Path path;
    path.link.kind = LinkKind::network;
    path.between = a.host + " and " + b.host;
    return path;
  }
  if (topology == nullptr) return unknown_path(no_topology());
  if (topology->gpu_count() < 2) return unknown_path("the topology names no second GPU");
  if (!a.device || !b.device) return unknown_path("the recording does not say which device a rank ran on");
  const auto at_a = topology->gpu(*a.device);
  const auto at_b = topology->gpu(*b.device);
  if (*a.device == *b.device) {
    // Either one device for both, or each rank sees its own alone and calls it so.
    const auto link = only_link(*topology);
    if (!link || link->kind == LinkKind::unknown || a.rank == b.rank)
      return unknown_path(
          "two ranks state the same device index, and the recording does not say which GPU each one had");
    const TopologyDevice& any =
        topology
            ->devices[*topology->gpu(topology->devices.front().is_gpu ? topology->devices.front().index : *a.device)];
    Path path = with_speed(*link, any, a, any, b);
    path.between = "any two GPUs of the host";
    return path;
  }
  if (!at_a || !at_b) return unknown_path("the topology does not name the devices that the recording names");
  const Link& link = topology->link(*at_a, *at_b);
  if (link.kind == LinkKind::unknown)
    return unknown_path("the topology does not say how the two devices are connected");
  return with_speed(link, topology->devices[*at_a], a, topology->devices[*at_b], b);
}

namespace {

// Slower first by what it carries, where both say so; else by kind.
bool carries_less(const Path& a, const Path& b) {
  if (a.link.kind == LinkKind::unknown || b.link.kind == LinkKind::unknown) return slower(a.link, b.link);
  if (a.expected_gbps && b.expected_gbps && *a.expected_gbps != *b.expected_gbps)
    return *a.expected_gbps < *b.expected_gbps;
  return slower(a.link, b.link);
}

}  // namespace

Path path_around(const Topology* topology, std::span<const Endpoint> endpoints) {
  if (endpoints.size() < 2) return unknown_path("the group has one rank");
  // On several hosts a ring crosses the network, whatever lies inside them.
  for (const Endpoint& end : endpoints) {
    if (!end.host.empty() && !endpoints[0].host.empty() && end.host != endpoints[0].host)
      return path_between(topology, endpoints[0], end);
  }
  if (topology == nullptr) return unknown_path(no_topology());
  if (endpoints.size() > kMostTopologyDevices)
    return unknown_path("the group has more ranks than a host has devices, and the hosts are not known");
  // Prim's tree over the fastest links: its slowest link is the best that the slowest part of any ring can be.
  std::vector<std::optional<Path>> best(endpoints.size());
  std::vector<bool> in_tree(endpoints.size());
  std::size_t newest = 0;
  std::optional<Path> slowest;
  for (std::size_t round = 1; round < endpoints.size(); ++round) {
    in_tree[newest] = true;
    std::optional<std::size_t> next;
    for (std::size_t i = 0; i < endpoints.size(); ++i) {
      if (in_tree[i]) continue;
      Path path = path_between(topology, endpoints[newest], endpoints[i]);
      if (!best[i] || carries_less(*best[i], path)) best[i] = std::move(path);
      if (!next || carries_less(*best[*next], *best[i])) next = i;
    }
    newest = *next;
    if (!slowest || carries_less(*best[newest], *slowest)) slowest = best[newest];
  }
  return *slowest;
}

}  // namespace accel::fusion
