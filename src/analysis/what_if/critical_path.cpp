#include "analysis/what_if/critical_path.h"

#include <algorithm>
#include <map>
#include <utility>

namespace accel {
namespace {

class Walk {
 public:
  Walk(const TraceStore& store, const StepGraph& graph, const Replay& replay)
      : store_(store), graph_(graph), replay_(replay) {}

  // From the end of the last node or event of what sets the pace back to `limit_ns`.
  void run(Cause at, std::int64_t from_ns, std::int64_t limit_ns) {
    now_ns_ = from_ns;
    limit_ns_ = limit_ns;
    // Causes lie before what they caused: every entry is met at most once.
    for (std::size_t guard = replay_.node_end_ns.size() + replay_.event_end_ns.size() + 1; guard > 0; --guard) {
      if (at.kind == Cause::Kind::none || now_ns_ <= limit_ns_) break;
      at = at.kind == Cause::Kind::host ? pass_node(at) : pass_event(at);
    }
    if (now_ns_ > limit_ns_) take(PathKind::unexplained, StringId(), limit_ns_);
  }

  std::vector<PathPart> parts(double steps) const {
    std::vector<PathPart> parts;
    for (const auto& [key, ns] : sums_)
      parts.push_back({static_cast<PathKind>(key.first), StringId(key.second), static_cast<double>(ns) / steps});
    std::stable_sort(parts.begin(), parts.end(),
                     [](const PathPart& a, const PathPart& b) { return a.ns_per_step > b.ns_per_step; });
    return parts;
  }

 private:
  std::size_t node_at(Cause c) const { return static_cast<std::size_t>(c.round) * graph_.nodes.size() + c.index; }
  std::size_t event_at(Cause c) const { return static_cast<std::size_t>(c.round) * graph_.events.size() + c.index; }

  void take(PathKind kind, StringId name, std::int64_t until_ns) {
    until_ns = std::max(until_ns, limit_ns_);
    if (until_ns >= now_ns_) return;
    sums_[{static_cast<std::uint8_t>(kind), name.value}] += now_ns_ - until_ns;
    now_ns_ = until_ns;
  }
  // The last `unexplained` ns of a stretch, then the rest of it.
  void take_lag(PathKind kind, StringId name, std::int64_t until_ns, std::int64_t unexplained_ns) {
    if (unexplained_ns > 0) take(PathKind::unexplained, name, std::max(until_ns, now_ns_ - unexplained_ns));
    take(kind, name, until_ns);
  }
  StringId name_of(const HostNode& node) const {
    return node.slice.valid() ? store_.slices.name[node.slice.value] : StringId();
  }
  std::int64_t end_of(Cause c, bool at_start) const {
    if (c.kind == Cause::Kind::host) return replay_.node_end_ns[node_at(c)];
    if (c.kind == Cause::Kind::device)
      return at_start ? replay_.event_start_ns[event_at(c)] : replay_.event_end_ns[event_at(c)];
    return limit_ns_;
  }

  static PathKind kind_of(const HostNode& node, Cause cause) {
    if (cause.kind == Cause::Kind::device) {
      if (node.kind == HostNodeKind::allocate) return PathKind::allocation;
      return node.kind == HostNodeKind::launch && node.other == HostNode::kNone ? PathKind::device_queue
                                                                                : PathKind::sync;
    }
    switch (node.kind) {
      case HostNodeKind::work:
        return PathKind::host;
      case HostNodeKind::launch:
        return PathKind::launch;
      case HostNodeKind::wait:
        return PathKind::sync;
      case HostNodeKind::allocate:
        return PathKind::allocation;
      case HostNodeKind::begin:
      case HostNodeKind::join:
        return PathKind::hand_over;
      case HostNodeKind::arrival:
        return PathKind::data;
    }
    return PathKind::host;
  }

  Cause pass_node(Cause at) {
    const HostNode& node = graph_.nodes[at.index];
    const Cause cause = replay_.node_cause[node_at(at)];
    // A full queue waits for an event to start, not to end.
    const bool at_start = cause.kind == Cause::Kind::device &&
                          (node.event_start || (node.kind == HostNodeKind::launch &&
                                                !(node.other == cause.index && at.round == cause.round)));
    take_lag(kind_of(node, cause), name_of(node), end_of(cause, at_start), node.unexplained_ns);
    if (!at_start) return cause;
    return start_cause(cause);
  }

  Cause pass_event(Cause at) {
    const DeviceNode& event = graph_.events[at.index];
    const StringId name = store_.device_events.name[event.event.value];
    const bool kernel = store_.device_events.kind[event.event.value] == DeviceEventKind::kernel;
    take(event.communication ? PathKind::communication
         : kernel            ? PathKind::kernel
                             : PathKind::copy,
         name, replay_.event_start_ns[event_at(at)]);
    return start_cause(at);
  }

  // From the start of an event back to the end of what it waited for.
  Cause start_cause(Cause at) {
    const DeviceNode& event = graph_.events[at.index];
    const StringId name = store_.device_events.name[event.event.value];
    const Cause cause = replay_.event_cause[event_at(at)];
    const bool launched = cause.kind != Cause::Kind::device;
    const bool as_recorded = launched == (event.order == EventOrder::launch);
    take_lag(launched ? PathKind::launch : PathKind::device_queue, name, end_of(cause, false),
             as_recorded ? event.unexplained_ns : 0);
    return cause;
  }

  const TraceStore& store_;
  const StepGraph& graph_;
  const Replay& replay_;
  std::int64_t now_ns_ = 0;
  std::int64_t limit_ns_ = 0;
  std::map<std::pair<std::uint8_t, std::uint32_t>, std::int64_t> sums_;
};

}  // namespace

std::string_view to_string(PathKind kind) {
  constexpr std::string_view kNames[kPathKinds] = {"host",          "launch",       "kernel",     "copy",
                                                   "communication", "device_queue", "sync",       "hand_over",
                                                   "allocation",    "data",         "unexplained"};
  return kNames[static_cast<std::size_t>(kind)];
}

CriticalPath critical_path(const TraceStore& store, const StepGraph& graph, const Replay& replay) {
  CriticalPath path;
  if (!graph.usable() || replay.node_end_ns.empty()) return path;
  const auto last_round = static_cast<std::uint8_t>(kReplayRounds - 1);
  const bool by_device = replay.device_step_ns > replay.host_step_ns;
  Cause last;
  std::int64_t end = 0;
  std::int64_t start = 0;
  if (by_device) {
    const std::size_t offset = last_round * graph.events.size();
    const auto from = replay.event_end_ns.begin() + static_cast<std::ptrdiff_t>(offset);
    const auto latest = std::max_element(from, replay.event_end_ns.end());
    last = {Cause::Kind::device, static_cast<std::uint32_t>(latest - from), last_round};
    end = *latest;
    start = *std::max_element(from - static_cast<std::ptrdiff_t>(graph.events.size()), from);
  } else {
    for (std::uint32_t i = 0; i < graph.nodes.size(); ++i)
      if (graph.nodes[i].lane == 0) last = {Cause::Kind::host, i, last_round};
    end = replay.last_end_ns;
    start = replay.last_start_ns;
  }
  Walk walk(store, graph, replay);
  walk.run(last, end, start);
  path.parts = walk.parts(static_cast<double>(graph.steps.size()));
  double unexplained = 0;
  for (const PathPart& part : path.parts) {
    path.total_ns += part.ns_per_step;
    if (part.kind == PathKind::unexplained) unexplained += part.ns_per_step;
  }
  if (path.total_ns > 0) path.unexplained_share = unexplained / path.total_ns;
  return path;
}

}  // namespace accel
