#include "analysis/step_graph/implied_order.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace accel {
namespace {

constexpr std::uint32_t kNone = HostNode::kNone;
// Once may be chance: two events that have nothing to do with each other can follow each other closely.
constexpr std::uint32_t kFewestSteps = 2;
// From one stream to another over an event takes longer than to the next on the same stream; what takes so long again
// and again is that, and no chance.
constexpr std::int64_t kLongestGapNs = 50'000;
// Clocks of streams agree to this.
constexpr std::int64_t kClockNs = 3'000;

// An event of a step is the same as one of another step if it is the n-th of its name on its stream in both.
class Places {
 public:
  Places(const TraceStore& store, const StepGraph& graph) : of_event_(graph.events.size(), 0) {
    std::map<std::tuple<std::uint16_t, std::uint32_t, std::uint32_t>, std::uint32_t> numbers;
    for (std::uint32_t s = 0; s < graph.steps.size(); ++s) {
      std::map<std::pair<std::uint16_t, std::uint32_t>, std::uint32_t> seen;
      std::vector<std::pair<std::uint32_t, std::uint32_t>> here;  // place, event
      for (std::uint32_t i = graph.steps[s].first; i < graph.steps[s].last; ++i) {
        const HostNode& node = graph.nodes[i];
        for (std::uint32_t e = node.first_event; e < node.first_event + node.event_count; ++e) {
          const std::uint32_t name = store.device_events.name[graph.events[e].event.value].value;
          const std::uint16_t stream = graph.events[e].stream;
          const std::uint32_t nth = seen[{stream, name}]++;
          const auto number = numbers.try_emplace({stream, name, nth}, static_cast<std::uint32_t>(numbers.size()));
          of_event_[e] = number.first->second;
          here.emplace_back(of_event_[e], e);
        }
      }
      std::sort(here.begin(), here.end());
      of_step_.push_back(std::move(here));
    }
  }

  std::uint32_t of(std::uint32_t event) const { return of_event_[event]; }
  // The event at this place in a step, or kNone.
  std::uint32_t event(std::size_t step, std::uint32_t place) const {
    const auto& here = of_step_[step];
    const auto at = std::lower_bound(here.begin(), here.end(), std::pair(place, 0U));
    return at != here.end() && at->first == place ? at->second : kNone;
  }

 private:
  std::vector<std::uint32_t> of_event_;
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> of_step_;
};

struct Wait {
  std::uint32_t target, source;  // places
  std::uint32_t steps_back;      // how many steps before the target's the source's is
  auto key() const { return std::tuple(target, source, steps_back); }
};

class Implied {
 public:
  Implied(const TraceStore& store, const DeviceTimeline& timeline, StepGraph& graph)
      : store_(store), timeline_(timeline), graph_(graph), places_(store, graph), step_of_(graph.events.size(), 0) {
    for (std::uint32_t s = 0; s < graph.steps.size(); ++s)
      for (std::uint32_t i = graph.steps[s].first; i < graph.steps[s].last; ++i)
        for (std::uint32_t k = 0; k < graph.nodes[i].event_count; ++k) step_of_[graph.nodes[i].first_event + k] = s;
  }

  void add() {
    struct Seen {
      Wait wait;
      std::int64_t gap_ns;
    };
    std::vector<Seen> seen;
    for (std::uint32_t e = 0; e < graph_.events.size(); ++e) {
      const DeviceNode& event = graph_.events[e];
      if (event.after == kNone || event.order == EventOrder::launch || event.cross_gap_ns > kLongestGapNs) continue;
      const std::uint32_t back = step_of_[e] - step_of_[event.after];
      // Of steps left out of the graph nothing is known.
      if (back > 1 || (back == 1 && graph_.steps[step_of_[e]].step != graph_.steps[step_of_[event.after]].step + 1))
        continue;
      seen.push_back({{places_.of(e), places_.of(event.after), back}, event.cross_gap_ns});
    }
    std::sort(seen.begin(), seen.end(), [](const Seen& a, const Seen& b) {
      return std::pair(a.wait.key(), a.gap_ns) < std::pair(b.wait.key(), b.gap_ns);
    });
    for (std::size_t i = 0; i < seen.size();) {
      std::size_t end = i;
      while (end < seen.size() && seen[end].wait.key() == seen[i].wait.key()) ++end;
      if (end - i >= kFewestSteps) add_everywhere(seen[i].wait, seen[i + (end - i) / 2].gap_ns);
      i = end;
    }
    std::sort(graph_.implied.begin(), graph_.implied.end(), [](const ImpliedEdge& a, const ImpliedEdge& b) {
      return std::pair(a.event, a.after) < std::pair(b.event, b.after);
    });
  }

 private:
  // Nothing if a step contradicts: its event began before the other one was over.
  void add_everywhere(const Wait& wait, std::int64_t gap_ns) {
    std::vector<ImpliedEdge> edges;
    for (std::size_t s = 0; s < graph_.steps.size(); ++s) {
      const std::size_t steps = graph_.steps.size();
      const std::size_t source_step = (s + steps - wait.steps_back) % steps;
      const std::uint32_t target = places_.event(s, wait.target);
      const std::uint32_t source = places_.event(source_step, wait.source);
      if (target == kNone || source == kNone || graph_.events[target].after == source) continue;
      // The first step follows the last one in the replay alone.
      const bool recorded = source < target && graph_.steps[s].step == graph_.steps[source_step].step + wait.steps_back;
      const std::int64_t gap = start_of(target) - end_of(source);
      if (recorded && gap < -kClockNs) return;
      edges.push_back({target, source, recorded ? std::min(gap_ns, gap) : gap_ns});
    }
    graph_.implied.insert(graph_.implied.end(), edges.begin(), edges.end());
  }

  std::int64_t start_of(std::uint32_t e) const { return store_.device_events.start_ns[graph_.events[e].event.value]; }
  std::int64_t end_of(std::uint32_t e) const { return timeline_.end_ns(store_, graph_.events[e].event.value); }

  const TraceStore& store_;
  const DeviceTimeline& timeline_;
  StepGraph& graph_;
  Places places_;
  std::vector<std::uint32_t> step_of_;
};

}  // namespace

void add_implied_order(const TraceStore& store, const DeviceTimeline& timeline, StepGraph& graph) {
  // Streams of one alone have their order already.
  const bool any = std::any_of(graph.events.begin(), graph.events.end(),
                               [](const DeviceNode& event) { return event.after != kNone; });
  if (any && graph.steps.size() >= kFewestSteps) Implied(store, timeline, graph).add();
}

}  // namespace accel
