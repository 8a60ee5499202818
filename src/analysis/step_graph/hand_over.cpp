#include "analysis/step_graph/hand_over.h"

#include <algorithm>
#include <cstddef>

namespace accel {
namespace {

// A stretch of one thread that began during one node of the main thread.
struct Burst {
  std::size_t during = 0;  // node of the main thread
  std::size_t first = 0;   // nodes of the thread, [first, last]
  std::size_t last = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint16_t lane = 0;
};

std::vector<Burst> find_bursts(const std::vector<LaneNode>& main, const std::vector<LaneNode>& nodes,
                               std::uint16_t lane) {
  std::vector<Burst> bursts;
  std::size_t during = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const LaneNode& node = nodes[i];
    if (node.gap) continue;
    if (node.starts_root || bursts.empty()) {
      while (during + 1 < main.size() && main[during].end_ns <= node.node.start_ns) ++during;
      if (bursts.empty() || bursts.back().during != during)
        bursts.push_back({during, i, i, node.node.start_ns, node.end_ns, lane});
    }
    bursts.back().last = i;
    bursts.back().end_ns = node.end_ns;
  }
  return bursts;
}

HostNode meeting(HostNodeKind kind, std::uint16_t lane, std::uint16_t other, std::int64_t at_ns, std::int64_t lag_ns) {
  HostNode node;
  node.kind = kind;
  node.lane = lane;
  node.other = other;
  node.start_ns = at_ns;
  node.lag_ns = lag_ns;
  return node;
}

// The main thread's node, cut where it hands over and where it goes on.
void add_main_node(const LaneNode& main, std::vector<const Burst*>& waits, std::vector<HostNode>& out) {
  if (waits.empty()) {
    out.push_back(main.node);
    return;
  }
  std::int64_t start = waits.front()->start_ns;
  for (const Burst* burst : waits) start = std::min(start, burst->start_ns);
  HostNode before = main.node;
  before.work_ns = start - before.start_ns;
  out.push_back(before);
  std::sort(waits.begin(), waits.end(), [](const Burst* a, const Burst* b) { return a->end_ns < b->end_ns; });
  for (const Burst* burst : waits) out.push_back(meeting(HostNodeKind::join, 0, burst->lane, burst->end_ns, 0));
  HostNode after = main.node;
  after.start_ns = waits.back()->end_ns;
  after.work_ns = main.end_ns - after.start_ns;
  after.records = after.calls = after.frames = 0;
  out.push_back(after);
}

}  // namespace

std::vector<HostNode> join_lanes(std::vector<std::vector<LaneNode>> lanes) {
  std::vector<HostNode> all;
  if (lanes.empty()) return all;
  const std::vector<LaneNode>& main = lanes[0];
  std::vector<Burst> bursts;
  for (std::size_t lane = 1; lane < lanes.size() && !main.empty(); ++lane) {
    const auto found = find_bursts(main, lanes[lane], static_cast<std::uint16_t>(lane));
    bursts.insert(bursts.end(), found.begin(), found.end());
  }
  std::stable_sort(bursts.begin(), bursts.end(), [](const Burst& a, const Burst& b) { return a.during < b.during; });
  std::size_t next = 0;
  for (std::size_t i = 0; i < main.size(); ++i) {
    std::vector<const Burst*> waits;
    for (; next < bursts.size() && bursts[next].during == i; ++next)
      if (bursts[next].end_ns <= main[i].end_ns) waits.push_back(&bursts[next]);
    std::int64_t handed_over = main[i].end_ns;
    for (const Burst* burst : waits) handed_over = std::min(handed_over, burst->start_ns);
    for (std::size_t b = next; b-- > 0 && bursts[b].during == i;) {
      const Burst& burst = bursts[b];
      all.push_back(meeting(HostNodeKind::begin, burst.lane, 0, burst.start_ns, burst.start_ns - handed_over));
      const auto& nodes = lanes[burst.lane];
      for (std::size_t n = burst.first; n <= burst.last; ++n) all.push_back(nodes[n].node);
    }
    add_main_node(main[i], waits, all);
  }
  // Of what starts together, a hand-over was added before what begins with it and a join before what goes on after it.
  std::stable_sort(all.begin(), all.end(),
                   [](const HostNode& a, const HostNode& b) { return a.start_ns < b.start_ns; });
  return all;
}

}  // namespace accel
