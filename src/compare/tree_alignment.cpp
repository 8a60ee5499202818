#include "compare/tree_alignment.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace accel::compare {
namespace {

constexpr std::uint32_t kNone = 0xffffffffU;
// Of the children of a node that stands in one tree alone so many have to be known to the other for it to be something
// put around them; likewise for two nodes of different names to be the same.
constexpr double kEnoughAlike = 0.5;
// So many are looked through at one place, so that a deep tree costs no more than a flat one.
constexpr int kLayers = 16;

bool is_python(CallKind kind) { return kind == CallKind::frame || kind == CallKind::module; }

bool has_frames(const CallTree& tree) {
  return std::any_of(tree.nodes.begin(), tree.nodes.end(), [](const CallNode& node) { return is_python(node.kind); });
}

// The tree as if no frames had been recorded: what a frame held belongs to what is around it.
CallTree without_frames(const CallTree& tree) {
  CallTree out;
  out.names = tree.names;
  out.steps = tree.steps;
  std::vector<std::uint32_t> place(tree.nodes.size(), 0);
  std::map<std::tuple<std::uint32_t, std::uint32_t, CallKind>, std::uint32_t> known;
  for (std::uint32_t i = 0; i < tree.nodes.size(); ++i) {
    const CallNode& node = tree.nodes[i];
    if (i > 0 && is_python(node.kind)) {
      place[i] = place[node.parent];
      out.nodes[place[i]].host_self_ns += node.host_self_ns;
      out.nodes[place[i]].device_self_ns += node.device_self_ns;
      continue;
    }
    const std::uint32_t parent = i == 0 ? 0 : place[node.parent];
    const auto [at, is_new] = known.try_emplace({i == 0 ? kNone : parent, node.name, node.kind},
                                                static_cast<std::uint32_t>(out.nodes.size()));
    place[i] = at->second;
    if (is_new) {
      out.nodes.push_back(node);
      out.nodes.back().parent = parent;
      continue;
    }
    CallNode& same = out.nodes[at->second];
    same.count += node.count;
    same.host_self_ns += node.host_self_ns;
    same.host_total_ns += node.host_total_ns;
    same.device_self_ns += node.device_self_ns;
    same.device_total_ns += node.device_total_ns;
  }
  return out;
}

// What of a name is its place and not its number or line.
std::string_view without_number(std::string_view name, char before) {
  std::size_t end = name.size();
  while (end > 0 && std::isdigit(static_cast<unsigned char>(name[end - 1])) != 0) --end;
  return end < name.size() && end > 0 && name[end - 1] == before ? name.substr(0, end - 1) : name;
}

// "thread 1557 (python3)": numbers of threads are the system's.
std::string without_id(std::string_view name) {
  constexpr std::string_view kThread = "thread ";
  if (!name.starts_with(kThread)) return std::string(without_number(name, ' '));
  const std::size_t end = std::min(name.find_first_not_of("0123456789", kThread.size()), name.size());
  return std::string(kThread) + std::string(name.substr(end));
}

std::string place_name(CallKind kind, std::string_view name) {
  switch (kind) {
    case CallKind::module:
      return std::string(without_number(name, '_'));
    case CallKind::thread:
      return without_id(name);
    case CallKind::call:
      for (const std::string_view launch : {"cudaLaunch", "cuLaunch", "hipLaunch", "hipModuleLaunch"})
        if (name.starts_with(launch)) return "launch";
      return std::string(name);
    case CallKind::frame: {
      const std::size_t open = name.find('(');
      const std::size_t close = name.find("): ", open == std::string_view::npos ? 0 : open);
      if (open == std::string_view::npos || close == std::string_view::npos) return std::string(name);
      return std::string(name.substr(0, open)) + std::string(name.substr(close + 1));
    }
    default:
      return std::string(name);
  }
}

struct Side {
  const CallTree& tree;
  std::vector<std::vector<std::uint32_t>> children;
  std::vector<std::uint32_t> place;  // number of kind and place name, the same on both sides
  std::vector<std::uint32_t> partner;

  Side(const CallTree& of, std::map<std::pair<CallKind, std::string>, std::uint32_t>& places)
      : tree(of), children(of.nodes.size()), place(of.nodes.size()), partner(of.nodes.size(), kNone) {
    for (std::uint32_t i = 0; i < of.nodes.size(); ++i) {
      const CallNode& node = of.nodes[i];
      if (i > 0) children[node.parent].push_back(i);
      std::string name = (node.flags & kNodeMainThread) != 0 ? "main" : place_name(node.kind, of.names[node.name]);
      place[i] =
          places.try_emplace({node.kind, std::move(name)}, static_cast<std::uint32_t>(places.size())).first->second;
    }
  }
  std::multiset<std::uint32_t> places_below(std::uint32_t node) const {
    std::multiset<std::uint32_t> below;
    for (const std::uint32_t child : children[node]) below.insert(place[child]);
    return below;
  }
};

using Nodes = std::vector<std::uint32_t>;

class Alignment {
 public:
  Alignment(Side& before, Side& after) : before_(before), after_(after) {}

  void run() {
    before_.partner[0] = after_.partner[0] = 0;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> open = {{0, 0}};
    // Every node is paired at most once, so that the list is as long as the smaller tree.
    for (std::size_t i = 0; i < open.size(); ++i) {
      pairs_.clear();
      align(before_.children[open[i].first], after_.children[open[i].second]);
      open.insert(open.end(), pairs_.begin(), pairs_.end());
    }
  }

 private:
  void pair(std::uint32_t a, std::uint32_t b) {
    before_.partner[a] = b;
    after_.partner[b] = a;
    pairs_.emplace_back(a, b);
  }

  void align(Nodes a, Nodes b) {
    by_place(a, b);
    for (int layer = 0; layer < kLayers && !a.empty() && !b.empty(); ++layer) {
      if (!look_inside(before_, a, after_, b) && !look_inside(after_, b, before_, a)) break;
      by_place(a, b);
    }
    by_likeness(a, b);
  }

  // The n-th of a kind and name is the n-th of the other side; the lists keep what is left.
  void by_place(Nodes& a, Nodes& b) {
    std::map<std::uint32_t, Nodes> of_place;
    for (const std::uint32_t node : b) of_place[after_.place[node]].push_back(node);
    std::map<std::uint32_t, std::size_t> taken;
    std::erase_if(a, [&](std::uint32_t node) {
      const auto at = of_place.find(before_.place[node]);
      if (at == of_place.end()) return false;
      std::size_t& next = taken[at->first];
      if (next == at->second.size()) return false;
      pair(node, at->second[next++]);
      return true;
    });
    std::erase_if(b, [&](std::uint32_t node) { return after_.partner[node] != kNone; });
  }

  // Replaces the nodes of `mine` whose children the other side has beside it (they were put around them) by these.
  static bool look_inside(const Side& my, Nodes& mine, const Side& other, const Nodes& others) {
    std::multiset<std::uint32_t> there;
    for (const std::uint32_t node : others) there.insert(other.place[node]);
    Nodes out;
    bool found = false;
    for (const std::uint32_t node : mine) {
      const Nodes& inside = my.children[node];
      const auto known =
          std::count_if(inside.begin(), inside.end(), [&](std::uint32_t n) { return there.contains(my.place[n]); });
      if (inside.empty() || my.tree.nodes[node].kind == CallKind::thread ||
          static_cast<double>(known) < kEnoughAlike * static_cast<double>(inside.size())) {
        out.push_back(node);
        continue;
      }
      found = true;
      for (const std::uint32_t child : inside) {
        out.push_back(child);
        if (const auto at = there.find(my.place[child]); at != there.end()) there.erase(at);
      }
    }
    mine = std::move(out);
    return found;
  }

  // Of one kind but another name: leaves in their order where each side has as many, other nodes by what they hold.
  void by_likeness(const Nodes& a, const Nodes& b) {
    constexpr std::size_t kMost = 64;  // of each, so that the work stays small
    for (const std::uint32_t left :
         Nodes(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), kMost)))) {
      const CallKind kind = before_.tree.nodes[left].kind;
      const bool leaf = before_.children[left].empty();
      if (kind == CallKind::rest || (kind == CallKind::thread && leaf)) continue;
      const auto same_kind = [&](const Side& side, const Nodes& nodes) {
        return std::count_if(nodes.begin(), nodes.end(),
                             [&](std::uint32_t n) { return side.tree.nodes[n].kind == kind; });
      };
      if (leaf && same_kind(before_, a) != same_kind(after_, b)) continue;
      std::uint32_t best = kNone;
      double most = leaf ? -1 : kEnoughAlike;
      for (std::size_t i = 0; i < std::min(b.size(), kMost); ++i) {
        if (after_.partner[b[i]] != kNone || after_.tree.nodes[b[i]].kind != kind) continue;
        if (after_.children[b[i]].empty() != leaf) continue;
        const double alike = leaf ? 0 : likeness(left, b[i]);
        if (alike <= most) continue;
        most = alike;
        best = b[i];
      }
      if (best != kNone) pair(left, best);
    }
  }

  double likeness(std::uint32_t a, std::uint32_t b) const {
    const auto first = before_.places_below(a);
    const auto second = after_.places_below(b);
    std::vector<std::uint32_t> both;
    std::set_intersection(first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(both));
    const std::size_t all = first.size() + second.size() - both.size();
    return all == 0 ? 0 : static_cast<double>(both.size()) / static_cast<double>(all);
  }

  Side& before_;
  Side& after_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs_;
};

std::vector<std::string> path_of(const CallTree& tree, std::uint32_t node) {
  std::vector<std::string> path;
  for (; node != 0; node = tree.nodes[node].parent) path.push_back(tree.names[tree.nodes[node].name]);
  std::reverse(path.begin(), path.end());
  return path;
}

double per_step(double value, const CallTree& tree) { return value / std::max<std::uint32_t>(1, tree.steps); }
std::int64_t ns_per_step(std::int64_t ns, const CallTree& tree) {
  return std::llround(per_step(static_cast<double>(ns), tree));
}

void fill(const CallTree& tree, std::uint32_t node, std::int64_t& host, std::int64_t& device, double& count) {
  host = ns_per_step(tree.nodes[node].host_self_ns, tree);
  device = ns_per_step(tree.nodes[node].device_self_ns, tree);
  count = per_step(static_cast<double>(tree.nodes[node].count), tree);
}

TreeSplit split(const CallTree& before, const CallTree& after, const Side& a, const Side& b, std::size_t named) {
  struct Row {
    TreeChange change;
    const CallTree* tree;
    std::uint32_t node;
  };
  TreeSplit out;
  std::vector<Row> rows;
  out.host_delta_ns =
      ns_per_step(after.nodes[0].host_total_ns, after) - ns_per_step(before.nodes[0].host_total_ns, before);
  out.device_delta_ns =
      ns_per_step(after.nodes[0].device_total_ns, after) - ns_per_step(before.nodes[0].device_total_ns, before);
  out.host_rest_ns = out.host_delta_ns;
  out.device_rest_ns = out.device_delta_ns;
  const auto add = [&](TreeChange change, const CallTree& tree, std::uint32_t node) {
    out.host_rest_ns -= change.host_delta_ns();
    out.device_rest_ns -= change.device_delta_ns();
    if (change.host_delta_ns() == 0 && change.device_delta_ns() == 0) return;
    change.kind = tree.nodes[node].kind;
    rows.push_back({std::move(change), &tree, node});
  };
  for (std::uint32_t node = 1; node < after.nodes.size(); ++node) {
    TreeChange change;
    fill(after, node, change.after_host_ns, change.after_device_ns, change.after_count);
    const std::uint32_t partner = b.partner[node];
    if (partner == kNone) {
      change.status = Status::appeared;
      ++out.appeared;
    } else {
      fill(before, partner, change.before_host_ns, change.before_device_ns, change.before_count);
      const std::string& old = before.names[before.nodes[partner].name];
      if (old != after.names[after.nodes[node].name]) change.before_name = old;
      ++(change.before_name.empty() ? out.same : out.renamed);
    }
    add(std::move(change), after, node);
  }
  for (std::uint32_t node = 1; node < before.nodes.size(); ++node) {
    if (a.partner[node] != kNone) continue;
    TreeChange change;
    change.status = Status::vanished;
    fill(before, node, change.before_host_ns, change.before_device_ns, change.before_count);
    ++out.vanished;
    add(std::move(change), before, node);
  }
  const auto size = [](const TreeChange& row) {
    return std::max(std::llabs(row.host_delta_ns()), std::llabs(row.device_delta_ns()));
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const Row& x, const Row& y) { return size(x.change) > size(y.change); });
  out.rows.reserve(rows.size());
  for (Row& row : rows) {
    if (out.rows.size() < named) row.change.path = path_of(*row.tree, row.node);
    out.rows.push_back(std::move(row.change));
  }
  return out;
}

}  // namespace

TreeSplit compare_trees(const CallTree& before, const CallTree& after, std::size_t named) {
  const bool python = has_frames(before) && has_frames(after);
  const bool left_out = !python && (has_frames(before) || has_frames(after));
  const CallTree first = left_out ? without_frames(before) : before;
  const CallTree second = left_out ? without_frames(after) : after;
  std::map<std::pair<CallKind, std::string>, std::uint32_t> places;
  Side a(first, places);
  Side b(second, places);
  Alignment(a, b).run();
  TreeSplit out = split(first, second, a, b, named);
  out.without_frames = left_out;
  return out;
}

}  // namespace accel::compare
