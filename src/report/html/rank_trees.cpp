#include "report/html/rank_trees.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "analysis/kernel_table.h"
#include "report/html/packed.h"
#include "report/plain_text.h"

namespace accel::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kRankTrees = 16;                // a reader looks at the ranks that are named and a few others
constexpr std::size_t kBytesOfRankTrees = 6'000'000;  // a quarter of what the largest page may have

}  // namespace

// Columns, since rows would repeat their keys.
std::string call_tree_json(const CallTree& tree) {
  Json names = Json::array();
  for (const std::string& name : tree.names) names.push_back(valid_utf8(name));
  Json parent = Json::array(), name = Json::array(), kind = Json::array(), flags = Json::array(), count = Json::array();
  Json host_self = Json::array(), host_total = Json::array(), device_self = Json::array(), device_total = Json::array();
  Json short_names = Json::object();
  for (const CallNode& node : tree.nodes) {
    parent.push_back(node.parent);
    name.push_back(node.name);
    kind.push_back(static_cast<int>(node.kind));
    flags.push_back(node.flags);
    count.push_back(node.count);
    host_self.push_back(node.host_self_ns);
    host_total.push_back(node.host_total_ns);
    device_self.push_back(node.device_self_ns);
    device_total.push_back(node.device_total_ns);
    if (node.kind == CallKind::kernel) {
      const std::string key = std::to_string(node.name);
      if (!short_names.contains(key)) short_names[key] = valid_utf8(short_kernel_name(tree.names[node.name]));
    }
  }
  Json kinds = Json::array();
  for (int k = 0; k <= static_cast<int>(CallKind::rest); ++k) kinds.push_back(to_string(static_cast<CallKind>(k)));
  const Json json = {{"steps", tree.steps},
                     {"nodes_summed", tree.nodes_summed},
                     {"most_nodes", kCallTreeNodes},
                     {"device_other_ns", tree.device_other_ns},
                     {"kinds", std::move(kinds)},
                     {"names", std::move(names)},
                     {"short_names", std::move(short_names)},
                     {"parent", std::move(parent)},
                     {"name", std::move(name)},
                     {"kind", std::move(kind)},
                     {"flags", std::move(flags)},
                     {"count", std::move(count)},
                     {"host_self", std::move(host_self)},
                     {"host_total", std::move(host_total)},
                     {"device_self", std::move(device_self)},
                     {"device_total", std::move(device_total)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<RankTree> pack_rank_tree(std::optional<std::int64_t> rank, const CallTree* tree) {
  if (tree == nullptr || tree->nodes.empty()) return std::nullopt;
  return RankTree{rank, base64(deflated(call_tree_json(*tree)))};
}

std::vector<RankTree> choose_rank_trees(const Document& document, std::vector<RankTree> trees) {
  std::vector<RankTree> chosen;
  std::size_t bytes = 0;
  const auto take = [&](RankTree& tree) {
    if (tree.columns.empty() || chosen.size() >= kRankTrees || bytes + tree.columns.size() > kBytesOfRankTrees) return;
    bytes += tree.columns.size();
    chosen.push_back({tree.rank, std::exchange(tree.columns, {})});
  };
  for (const Finding& finding : document.findings) {
    for (const Location& place : finding.where) {
      if (!place.rank) continue;
      for (RankTree& tree : trees) {
        if (tree.rank == place.rank) take(tree);
      }
    }
  }
  for (RankTree& tree : trees) take(tree);
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const RankTree& a, const RankTree& b) { return a.rank.value_or(-1) < b.rank.value_or(-1); });
  return chosen;
}

}  // namespace accel::report
