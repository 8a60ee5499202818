#include "analysis/call_tree/thin_tree.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace accel {
namespace {

constexpr std::uint32_t kNone = 0xffffffffU;

// By importance: the larger of the shares of host and of device time. A parent never has less than its child and comes
// before it, so what is kept is a tree.
std::vector<std::uint8_t> choose(const std::vector<CallNode>& nodes) {
  const double host = static_cast<double>(std::max<std::int64_t>(1, nodes[0].host_total_ns));
  const double device = static_cast<double>(std::max<std::int64_t>(1, nodes[0].device_total_ns));
  std::vector<double> weight(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    weight[i] = std::max(static_cast<double>(nodes[i].host_total_ns) / host,
                         static_cast<double>(nodes[i].device_total_ns) / device);
  for (std::size_t i = nodes.size(); i-- > 1;) weight[nodes[i].parent] = std::max(weight[nodes[i].parent], weight[i]);
  std::vector<std::uint32_t> order(nodes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
  std::nth_element(order.begin(), order.begin() + kCallTreeNodes, order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return weight[a] != weight[b] ? weight[a] > weight[b] : a < b;
  });
  std::vector<std::uint8_t> kept(nodes.size(), 0);
  for (std::size_t i = 0; i < kCallTreeNodes; ++i) kept[order[i]] = 1;
  return kept;
}

void keep(CallTree& tree, const std::vector<std::uint8_t>& kept, std::uint32_t rest_name) {
  const std::vector<CallNode> all = std::move(tree.nodes);
  tree.nodes.clear();
  std::vector<std::uint32_t> place(all.size(), kNone);
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    if (!kept[i]) continue;
    place[i] = static_cast<std::uint32_t>(tree.nodes.size());
    CallNode node = all[i];
    node.parent = i == 0 ? 0 : place[node.parent];
    tree.nodes.push_back(node);
  }
  std::vector<std::uint32_t> rest_of(all.size(), kNone);
  for (std::uint32_t i = 1; i < all.size(); ++i) {
    if (kept[i]) continue;
    ++tree.nodes_summed;
    if (!kept[all[i].parent]) continue;  // within the totals of the one above
    std::uint32_t& rest = rest_of[all[i].parent];
    if (rest == kNone) {
      rest = static_cast<std::uint32_t>(tree.nodes.size());
      CallNode node;
      node.parent = place[all[i].parent];
      node.name = rest_name;
      node.kind = CallKind::rest;
      tree.nodes.push_back(node);
    }
    CallNode& node = tree.nodes[rest];
    ++node.count;
    node.host_total_ns += all[i].host_total_ns;
    node.host_self_ns += all[i].host_total_ns;
    node.device_total_ns += all[i].device_total_ns;
    node.device_self_ns += all[i].device_total_ns;
  }
}

}  // namespace

void thin(CallTree& tree, NodeNames& names) {
  if (tree.nodes.size() > kCallTreeNodes) keep(tree, choose(tree.nodes), names.of("other"));
  std::vector<std::uint32_t> place(names.size(), kNone);
  for (CallNode& node : tree.nodes) {
    std::uint32_t& at = place[node.name];
    if (at == kNone) {
      at = static_cast<std::uint32_t>(tree.names.size());
      tree.names.emplace_back(names.text(node.name));
    }
    node.name = at;
  }
}

}  // namespace accel
