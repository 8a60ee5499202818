#include "analysis/what_if/transform.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/elementwise.h"
#include "analysis/what_if/matching.h"
#include "analysis/what_if/roofline_model.h"

namespace accel {
namespace {

// A graph replays a call of this length, and its kernels follow each other after that.
constexpr std::int64_t kGraphCallNs = 20'000;
constexpr std::int64_t kGraphGapNs = 300;
constexpr std::int64_t kWorstGraphGapNs = 1'000;
// Host time outside of ops, or in ops that launch nothing, that lasts longer is no launching: a graph does not take it
// away.
constexpr std::int64_t kOwnWorkNs = 200'000;
// Pinned memory is copied at this rate where the capture shows no pinned copy: what PCIe 4.0 reaches.
constexpr double kPinnedBytesPerNs = 24.0;
constexpr std::int64_t kCopyCallNs = 10'000;

double share_of(const Transformation& transformation, Outcome outcome) {
  switch (outcome) {
    case Outcome::expected:
      return transformation.share.expected;
    case Outcome::best:
      return transformation.share.best;
    case Outcome::worst:
      return transformation.share.worst;
  }
  return 1;
}

std::int64_t scaled(std::int64_t ns, double factor) { return std::llround(static_cast<double>(ns) * factor); }

bool is_elementwise(std::string_view kernel) {
  for (const std::string_view part :
       {"elementwise", "multi_tensor_apply", "triton_poi", "fused_dropout", "CatArrayBatch"})
    if (kernel.find(part) != std::string_view::npos) return true;
  return false;
}

class Transform {
 public:
  Transform(StepGraph& graph, const TransformContext& context, const Transformation& transformation, Outcome outcome)
      : graph_(graph),
        context_(context),
        store_(context.store),
        index_(context.index),
        transformation_(transformation),
        match_(context.store, transformation.patterns),
        share_(share_of(transformation, outcome)),
        outcome_(outcome) {}

  void apply() {
    switch (transformation_.kind) {
      case TransformationKind::no_sync:
        return no_sync();
      case TransformationKind::data_ready:
        return data_ready();
      case TransformationKind::pin_overlap:
        return pin_overlap();
      case TransformationKind::graph:
        return into_graph();
      case TransformationKind::fuse:
        return fuse();
      case TransformationKind::roofline:
        return roofline();
      case TransformationKind::no_alloc:
        return no_alloc();
      case TransformationKind::no_host:
        return scale_host(share_);
      case TransformationKind::overlap_comm:
        return overlap_comm();
      case TransformationKind::scale:
        scale_host(share_);
        return scale_device(share_);
      case TransformationKind::checkpoint:
        return checkpoint();
    }
  }

 private:
  static void stop_waiting(HostNode& node) {
    node.streams = 0;
    node.other = HostNode::kNone;
    node.lag_ns = node.unexplained_ns = 0;
  }
  bool is_copy(const DeviceNode& event) const {
    return store_.device_events.kind[event.event.value] == DeviceEventKind::memcpy;
  }

  void no_sync() {
    for (HostNode& node : graph_.nodes) {
      if (!match_.slice(node.slice)) continue;
      if (node.kind == HostNodeKind::wait) {
        node.work_ns = scaled(node.work_ns, share_);
        stop_waiting(node);
      } else if (node.kind == HostNodeKind::launch && node.other != HostNode::kNone &&
                 (index_.slice_flags[node.slice.value] & kCallFromDevice) != 0) {
        stop_waiting(node);  // the value is read later, when it is there
      }
    }
  }

  void data_ready() {
    const ClassMatching data(store_, [&](std::uint32_t i) {
      const NameClass c = index_.class_of(store_, i);
      return c == NameClass::dataloader_next || c == NameClass::data_range;
    });
    for (HostNode& node : graph_.nodes) {
      if (!data.slice(node.slice)) continue;
      node.work_ns = scaled(node.work_ns, share_);
      if (node.kind == HostNodeKind::arrival) node.kind = HostNodeKind::work;
    }
  }

  // Bytes per ns of copies between host and device from or to pinned memory, by all their time.
  double pinned_rate() const {
    double bytes = 0;
    double time = 0;
    for (const DeviceNode& event : graph_.events) {
      if (!is_copy(event) || !store_.device_events.detail[event.event.value].valid()) continue;
      const std::uint32_t detail = store_.device_events.detail[event.event.value].value;
      if (store_.copy_details.source[detail] != MemoryKind::pinned &&
          store_.copy_details.destination[detail] != MemoryKind::pinned)
        continue;
      bytes += static_cast<double>(std::max<std::int64_t>(0, store_.copy_details.bytes[detail]));
      time += static_cast<double>(event.dur_ns);
    }
    // Small copies say nothing about the rate.
    constexpr double kEnoughBytes = 1e6;
    return bytes > kEnoughBytes && time > 0 ? bytes / time : kPinnedBytesPerNs;
  }

  // With a share the copies stay in their place and pageable ones keep that share of their time. Without one they have
  // the rate of pinned copies and run beside the kernels, at worst in their place.
  void pin_overlap() {
    const double rate = pinned_rate();
    const auto beside = static_cast<std::uint16_t>(graph_.streams.size());
    for (HostNode& node : graph_.nodes) {
      if (node.kind != HostNodeKind::launch) continue;
      const std::uint8_t flags = index_.slice_flags[node.slice.value];
      if ((flags & (kCallToDevice | kCallFromDevice)) == 0) continue;
      const bool pageable = (flags & kCallPageable) != 0;
      stop_waiting(node);
      node.work_ns = std::min(node.work_ns, kCopyCallNs);
      for (std::uint32_t e = node.first_event; e < node.first_event + node.event_count; ++e) {
        DeviceNode& event = graph_.events[e];
        const std::uint32_t detail = store_.device_events.detail[event.event.value].value;
        const std::int64_t bytes = detail == DetailId::kNone ? 0 : store_.copy_details.bytes[detail];
        if (pageable && share_ > 0) {
          event.dur_ns = scaled(event.dur_ns, share_);
        } else if (pageable && bytes > 0) {
          event.dur_ns = std::min(event.dur_ns, scaled(bytes, 1 / rate));
        }
        if (event.latency_ns > kCopyCallNs) event.latency_ns = kCopyCallNs;
        event.unexplained_ns = 0;
        if (share_ <= 0 && outcome_ != Outcome::worst) event.stream = beside;
      }
    }
    add_stream(beside);
    // A wait for a copy that nobody has to wait for any more.
    drop_edges_to(beside);
  }

  void add_stream(std::uint16_t number) {
    if (graph_.streams.size() <= number) graph_.streams.push_back(StreamIndex());
  }
  void drop_edges_to(std::uint16_t stream) {
    for (DeviceNode& event : graph_.events)
      if (event.after != HostNode::kNone && graph_.events[event.after].stream == stream) event.after = HostNode::kNone;
    std::erase_if(graph_.implied, [&](const ImpliedEdge& edge) { return graph_.events[edge.after].stream == stream; });
  }

  void into_graph() {
    const ClassMatching data(store_, [&](std::uint32_t i) {
      const NameClass c = index_.class_of(store_, i);
      return c == NameClass::dataloader_next || c == NameClass::data_range;
    });
    for (const StepGraph::Range& step : graph_.steps) {
      bool first = true;
      for (std::uint32_t i = step.first; i < step.last; ++i) {
        HostNode& node = graph_.nodes[i];
        if (!match_.slice(node.slice) || data.slice(node.slice)) continue;
        if (node.kind == HostNodeKind::launch) {
          for (std::uint32_t e = node.first_event; e < node.first_event + node.event_count; ++e) {
            DeviceNode& event = graph_.events[e];
            event.gap_ns = std::min(event.gap_ns, outcome_ == Outcome::worst ? kWorstGraphGapNs : kGraphGapNs);
            event.unexplained_ns = 0;
            if (!first) event.latency_ns = 0;
          }
          const std::int64_t call = first ? kGraphCallNs : 0;
          first = false;
          node.work_ns = std::min(node.work_ns, std::max(call, scaled(node.work_ns, share_)));
        } else if (node.kind == HostNodeKind::begin || node.kind == HostNodeKind::join) {
          node.lag_ns = scaled(node.lag_ns, share_);
        } else if (node.kind == HostNodeKind::work && !is_own_work(node)) {
          node.work_ns = scaled(node.work_ns, share_);
        }
      }
    }
  }

  bool is_own_work(const HostNode& node) const {
    if (node.work_ns < kOwnWorkNs) return false;
    // An optimizer sorts its parameters before it launches, which a graph need not.
    if (node.slice.valid() && index_.class_of(store_, node.slice.value) == NameClass::optimizer_step) return false;
    return !node.slice.valid() || (index_.slice_flags[node.slice.value] & kLaunchesInside) == 0 ||
           store_.slices.kind[node.slice.value] != SliceKind::op;
  }

  // Runs of element-wise kernels on a stream that nothing else interrupts. The longest of a run remains; `share` of
  // what the others took comes on top. Their launches and the ops around these go away.
  void fuse() {
    const bool formulas = transformation_.shortest_run > 2;
    const std::vector<std::uint32_t> callers = launching_nodes();
    const ClassMatching optimizer(
        store_, [&](std::uint32_t i) { return index_.class_of(store_, i) == NameClass::optimizer_step; });
    std::vector<std::uint8_t> gone(store_.slices.size(), 0);
    std::vector<std::uint32_t> run;
    const auto close = [&] {
      if (run.size() >= transformation_.shortest_run && (!formulas || mostly_computes(run))) {
        one_kernel(run, gone);
        if (formulas) nothing_between(callers[run.front()], callers[run.back()]);
      }
      run.clear();
    };
    for (std::uint32_t e = 0; e < graph_.events.size(); ++e) {
      const DeviceNode& event = graph_.events[e];
      const std::uint32_t row = event.event.value;
      const bool fits =
          formulas ? fits_into_formula(store_, index_, row) && !optimizer.slice(store_.device_events.launch[row])
                   : store_.device_events.kind[row] == DeviceEventKind::kernel &&
                         is_elementwise(store_.text(store_.device_events.name[row]));
      if (!fits || !match_.event(event.event)) {
        close();
        continue;
      }
      if (!run.empty() && graph_.events[run.front()].stream != event.stream) close();
      // Forward and backward are launched by different threads: a formula does not go from one to the other.
      if (formulas && !run.empty() && graph_.nodes[callers[run.back()]].lane != graph_.nodes[callers[e]].lane) close();
      run.push_back(e);
    }
    close();
    for (HostNode& node : graph_.nodes) {
      if (!node.slice.valid()) continue;
      const bool fused = gone[node.slice.value] != 0;
      if (fused && (node.kind == HostNodeKind::work || node.kind == HostNodeKind::launch)) node.work_ns = 0;
    }
  }

  // By event of the graph: the node that launched it.
  std::vector<std::uint32_t> launching_nodes() const {
    std::vector<std::uint32_t> nodes(graph_.events.size(), 0);
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      const HostNode& node = graph_.nodes[i];
      for (std::uint32_t e = node.first_event; e < node.first_event + node.event_count; ++e) nodes[e] = i;
    }
    return nodes;
  }

  bool mostly_computes(const std::vector<std::uint32_t>& run) const {
    const auto computing = std::count_if(run.begin(), run.end(), [&](std::uint32_t e) {
      return is_elementwise_computation(store_.text(store_.device_events.name[graph_.events[e].event.value]));
    });
    return 2 * static_cast<std::size_t>(computing) >= run.size();
  }

  void one_kernel(const std::vector<std::uint32_t>& run, std::vector<std::uint8_t>& gone) {
    std::int64_t longest = 0;
    std::int64_t sum = 0;
    for (const std::uint32_t e : run) {
      longest = std::max(longest, graph_.events[e].dur_ns);
      sum += graph_.events[e].dur_ns;
      if (e == run.front()) continue;
      const SliceId launch = store_.device_events.launch[graph_.events[e].event.value];
      if (const SliceId op = store_.enclosing_op(launch); op.valid() && store_.slices.kind[op.value] == SliceKind::op)
        gone[op.value] = 1;
      gone[launch.value] = 1;
      graph_.events[e].dur_ns = graph_.events[e].gap_ns = graph_.events[e].latency_ns = 0;
    }
    graph_.events[run.front()].dur_ns = longest + scaled(sum - longest, share_);
  }

  // Between the launches of one formula its thread makes views, records for autograd and calls the next op.
  void nothing_between(std::uint32_t first, std::uint32_t last) {
    const std::uint16_t lane = graph_.nodes[first].lane;
    for (std::uint32_t i = first + 1; i < last; ++i) {
      HostNode& node = graph_.nodes[i];
      if (node.lane == lane && node.kind == HostNodeKind::work && !is_own_work(node)) node.work_ns = 0;
    }
  }

  void roofline() {
    if (context_.efficiency == nullptr) return;
    const RooflineModel model(*context_.efficiency);
    for (DeviceNode& event : graph_.events) {
      if (match_.event(event.event))
        event.dur_ns = scaled(event.dur_ns, model.factor(store_.device_events.name[event.event.value], outcome_));
    }
  }

  void no_alloc() {
    for (HostNode& node : graph_.nodes) {
      const bool host = node.slice.valid() && node.kind == HostNodeKind::work &&
                        index_.class_of(store_, node.slice.value) == NameClass::host_memory;
      if (node.kind != HostNodeKind::allocate && !host) continue;
      node.work_ns = scaled(node.work_ns, share_);
      stop_waiting(node);
    }
  }

  void scale_host(double factor) {
    for (HostNode& node : graph_.nodes) {
      if (node.kind == HostNodeKind::begin || node.kind == HostNodeKind::join || !match_.slice(node.slice)) continue;
      node.work_ns = scaled(node.work_ns, factor);
      if (node.kind == HostNodeKind::arrival) node.lag_ns = scaled(node.lag_ns, factor);
    }
  }

  void scale_device(double factor) {
    for (DeviceNode& event : graph_.events)
      if (match_.event(event.event)) event.dur_ns = scaled(event.dur_ns, factor);
  }

  void overlap_comm() {
    const auto beside = static_cast<std::uint16_t>(graph_.streams.size());
    add_stream(beside);
    for (DeviceNode& event : graph_.events)
      if (event.communication && match_.event(event.event)) event.stream = beside;
    drop_edges_to(beside);
  }

  // Twice, as its forward runs again; the backward is what the autograd threads do.
  void checkpoint() {
    for (HostNode& node : graph_.nodes) {
      if (node.lane != 0 || !node.slice.valid() || !match_.slice(node.slice)) continue;
      node.work_ns *= 2;
      for (std::uint32_t e = node.first_event; e < node.first_event + node.event_count; ++e)
        graph_.events[e].dur_ns *= 2;
    }
  }

  StepGraph& graph_;
  const TransformContext& context_;
  const TraceStore& store_;
  const EventIndex& index_;
  const Transformation& transformation_;
  Matching match_;
  double share_;
  Outcome outcome_;
};

}  // namespace

StepGraph transformed(const StepGraph& graph, const TransformContext& context,
                      std::span<const Transformation> transformations, Outcome outcome) {
  StepGraph out = graph;
  for (const Transformation& transformation : transformations) Transform(out, context, transformation, outcome).apply();
  return out;
}

}  // namespace accel
