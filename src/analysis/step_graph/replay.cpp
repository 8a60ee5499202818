#include "analysis/step_graph/replay.h"

#include <algorithm>
#include <limits>

namespace accel {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min() / 2;

class Run {
 public:
  Run(const StepGraph& graph, ReplayDetail detail, Replay& out)
      : graph_(graph),
        keep_(detail != ReplayDetail::none),
        keep_constraints_(detail == ReplayDetail::constraints),
        out_(out),
        lanes_(std::max<std::size_t>(1, graph.lanes.size())),
        streams_(graph.streams.size()),
        event_start_(graph.events.size(), kNever),
        event_end_(graph.events.size(), kNever) {}

  void round(int number) {
    round_ = static_cast<std::uint8_t>(number);
    next_implied_ = 0;
    for (const StepGraph::Range& step : graph_.steps) {
      for (std::uint32_t i = step.first; i < step.last; ++i) {
        const HostNode& node = graph_.nodes[i];
        // Most nodes of captures with Python frames, and nothing but a sum where nobody asks for causes.
        if (!keep_ && node.kind == HostNodeKind::work && node.event_count == 0)
          lanes_[node.lane].time_ns += node.work_ns;
        else
          run(i, node);
      }
    }
    if (!keep_) return;
    out_.event_start_ns.insert(out_.event_start_ns.end(), event_start_.begin(), event_start_.end());
    out_.event_end_ns.insert(out_.event_end_ns.end(), event_end_.begin(), event_end_.end());
  }

  std::int64_t host_ns() const { return lanes_[0].time_ns; }
  // Of the events of the first step, in the round just run; kNever without any.
  std::int64_t first_start_ns() const {
    std::int64_t first = kNever;
    for (std::uint32_t i = graph_.steps[0].first; i < graph_.steps[0].last; ++i) {
      const HostNode& node = graph_.nodes[i];
      for (std::uint32_t e = node.first_event; e < node.first_event + node.event_count; ++e)
        first = first == kNever ? event_start_[e] : std::min(first, event_start_[e]);
    }
    return first;
  }
  std::int64_t device_ns() const {
    std::int64_t latest = 0;
    for (const Stream& stream : streams_) latest = std::max(latest, stream.end_ns);
    return latest;
  }

 private:
  struct Lane {
    std::int64_t time_ns = 0;
    Cause cause;
  };
  struct Stream {
    std::int64_t end_ns = kNever;
    Cause last;
    std::vector<std::int64_t> launch_starts;
    std::vector<Cause> launches;
  };
  // The latest of several times, and whose it is.
  struct Latest {
    std::int64_t time_ns = kNever;
    Cause cause;
  };

  void add(Latest& latest, std::int64_t time, Cause of, bool at_start = false) {
    if (time > latest.time_ns) latest = {time, of};
    if (keep_constraints_ && round_ > 0 && of.kind != Cause::Kind::none)
      out_.constraints.push_back({of, {}, time, at_start});
  }
  // All that was added since `first` concerns `to`.
  void close(std::size_t first, const Latest& latest, Cause to) {
    for (std::size_t i = first; i < out_.constraints.size(); ++i) {
      out_.constraints[i].to = to;
      out_.constraints[i].spare_ns = latest.time_ns - out_.constraints[i].spare_ns;
    }
  }

  void run(std::uint32_t i, const HostNode& node) {
    Lane& lane = lanes_[node.lane];
    const Lane begun = lane;
    const Cause self{Cause::Kind::host, i, round_};
    std::size_t head_stream = 0;
    for (std::uint32_t e = node.first_event; e < node.first_event + node.event_count; ++e) {
      start_event(e, graph_.events[e], begun.time_ns, begun.cause);
      if (e == node.first_event) {
        Stream& stream = streams_[graph_.events[e].stream];
        stream.launch_starts.push_back(event_start_[e]);
        if (keep_) stream.launches.push_back({Cause::Kind::device, e, round_});
        head_stream = graph_.events[e].stream;
      }
    }
    const std::size_t first = out_.constraints.size();
    Latest done;
    add(done, begun.time_ns + node.work_ns, begun.cause);
    switch (node.kind) {
      case HostNodeKind::work:
        break;
      case HostNodeKind::launch:
        if (node.event_count > 0) wait_for_queue(streams_[head_stream], done);
        if (node.other != HostNode::kNone) wait_for_device(node, done);
        break;
      case HostNodeKind::wait:
      case HostNodeKind::allocate:
        wait_for_device(node, done);
        break;
      case HostNodeKind::begin:
      case HostNodeKind::join:
        add(done, lanes_[node.other].time_ns + node.lag_ns, lanes_[node.other].cause);
        break;
      case HostNodeKind::arrival:
        add(done, last_arrival_ns_ + node.lag_ns, last_arrival_);
        last_arrival_ns_ = done.time_ns;
        last_arrival_ = self;
        break;
    }
    close(first, done, self);
    lane = {done.time_ns, self};
    if (keep_) {
      out_.node_end_ns.push_back(done.time_ns);
      out_.node_cause.push_back(done.cause);
    }
  }

  void start_event(std::uint32_t e, const DeviceNode& event, std::int64_t called_ns, Cause caller) {
    Stream& stream = streams_[event.stream];
    const Cause self{Cause::Kind::device, e, round_};
    const std::size_t first = out_.constraints.size();
    Latest ready;
    add(ready, called_ns + event.latency_ns, caller);
    add(ready, stream.end_ns + event.gap_ns, stream.last);
    if (event.after != HostNode::kNone) follow(e, event.after, event.cross_gap_ns, ready);
    while (next_implied_ < graph_.implied.size() && graph_.implied[next_implied_].event < e) ++next_implied_;
    for (; next_implied_ < graph_.implied.size() && graph_.implied[next_implied_].event == e; ++next_implied_)
      follow(e, graph_.implied[next_implied_].after, graph_.implied[next_implied_].gap_ns, ready);
    close(first, ready, self);
    event_start_[e] = ready.time_ns;
    event_end_[e] = ready.time_ns + event.dur_ns;
    if (event_end_[e] >= stream.end_ns) {
      stream.end_ns = event_end_[e];
      stream.last = self;
    }
    if (keep_) out_.event_cause.push_back(ready.cause);
  }

  // What comes later in the circle was there in the round before.
  void follow(std::uint32_t e, std::uint32_t after, std::int64_t gap_ns, Latest& ready) {
    if (event_end_[after] == kNever) return;
    const auto round = static_cast<std::uint8_t>(after < e ? round_ : round_ - 1);
    add(ready, event_end_[after] + gap_ns, {Cause::Kind::device, after, round});
  }

  void wait_for_queue(const Stream& stream, Latest& done) {
    const std::size_t launched = stream.launch_starts.size();
    if (graph_.queue_depth == 0 || launched <= graph_.queue_depth) return;
    const std::size_t freed = launched - 1 - graph_.queue_depth;
    add(done, stream.launch_starts[freed], keep_ ? stream.launches[freed] : Cause{}, true);
  }

  void wait_for_device(const HostNode& node, Latest& done) {
    if (node.other != HostNode::kNone)
      add(done, (node.event_start ? event_start_ : event_end_)[node.other] + node.lag_ns,
          {Cause::Kind::device, node.other, round_}, node.event_start);
    if (node.streams == 0) return;
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      if ((node.streams >> std::min<std::size_t>(s, 63) & 1U) == 0) continue;
      add(done, streams_[s].end_ns + node.lag_ns, streams_[s].last);
    }
  }

  const StepGraph& graph_;
  bool keep_;
  bool keep_constraints_;
  Replay& out_;
  std::size_t next_implied_ = 0;
  std::uint8_t round_ = 0;
  std::vector<Lane> lanes_;
  std::vector<Stream> streams_;
  std::vector<std::int64_t> event_start_;
  std::vector<std::int64_t> event_end_;
  std::int64_t last_arrival_ns_ = kNever;
  Cause last_arrival_;
};

}  // namespace

Replay replay(const StepGraph& graph, ReplayDetail detail) {
  Replay out;
  if (!graph.usable()) return out;
  Run run(graph, detail, out);
  const auto steps = static_cast<double>(graph.steps.size());
  std::int64_t first_start = 0;
  std::int64_t host = 0;
  std::int64_t device = 0;
  for (int number = 0; number < kReplayRounds; ++number) {
    host = run.host_ns();
    device = run.device_ns();
    run.round(number);
    if (number == 0) out.first_host_step_ns = static_cast<double>(run.host_ns()) / steps;
    if (number == 0) first_start = run.first_start_ns();
    if (number == 1) out.first_device_step_ns = static_cast<double>(run.first_start_ns() - first_start) / steps;
  }
  out.last_start_ns = host;
  out.last_end_ns = run.host_ns();
  out.host_step_ns = static_cast<double>(run.host_ns() - host) / steps;
  out.device_step_ns = static_cast<double>(run.device_ns() - device) / steps;
  out.step_ns = std::max(out.host_step_ns, out.device_step_ns);
  return out;
}

}  // namespace accel
