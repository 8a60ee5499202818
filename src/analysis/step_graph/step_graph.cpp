#include "analysis/step_graph/step_graph.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "analysis/analysis.h"
#include "analysis/device_timeline.h"
#include "analysis/event_index.h"
#include "analysis/step_graph/device_order.h"
#include "analysis/step_graph/hand_over.h"
#include "analysis/step_graph/host_pace.h"
#include "analysis/step_graph/implied_order.h"
#include "analysis/step_graph/lane_walk.h"
#include "analysis/step_segmentation.h"
#include "trace/processor.h"

namespace accel {
namespace {

// A graph is replayed some dozen times; steps beyond this many slices or steps tell nothing new. A few steps are looked
// at even where each holds many slices (Python frames): one alone may be quicker or slower than the others.
constexpr std::uint64_t kMostSlices = 60'000;
constexpr std::uint64_t kMostSlicesOfFew = 200'000;
constexpr std::size_t kFewSteps = 6;
constexpr std::size_t kMostSteps = 24;
constexpr std::size_t kMostLanes = 64;
// A wait inside a loader that is fed by other processes is one if it lasts this long; below, the batch was there.
constexpr std::int64_t kFeedWaitNs = 1'000'000;

std::uint64_t slices_in(const TraceStore& store, const std::vector<ThreadIndex>& lanes, Interval window) {
  std::uint64_t count = 0;
  const auto begin = store.slices.start_ns.begin();
  for (const ThreadIndex lane : lanes) {
    const auto [first, last] = store.thread_ranges[lane.value];
    const auto from = std::lower_bound(begin + first, begin + last, window.start_ns);
    count += static_cast<std::uint64_t>(std::lower_bound(from, begin + last, window.end_ns) - from);
  }
  return count;
}

struct ChosenStep {
  StepSegmentation::Window window;  // on the host
  std::int64_t duration_ns = 0;     // of what sets the pace
};

double length(const ChosenStep& step) { return static_cast<double>(step.duration_ns); }

// Of `count` parts by rising duration, from each the step that comes nearest to the part's mean: slow and quick ones
// keep their share. Parts that differ in size by one then pull the mean of those chosen; others of their parts mend it.
std::vector<ChosenStep> spread(std::vector<ChosenStep> steps, std::size_t count) {
  std::stable_sort(steps.begin(), steps.end(),
                   [](const ChosenStep& a, const ChosenStep& b) { return a.duration_ns < b.duration_ns; });
  const auto begin_of = [&](std::size_t part) { return part * steps.size() / count; };
  const auto mean_of = [&](std::size_t first, std::size_t last) {
    double sum = 0;
    for (std::size_t i = first; i < last; ++i) sum += static_cast<double>(steps[i].duration_ns);
    return sum / static_cast<double>(last - first);
  };
  std::vector<std::size_t> chosen;
  double excess = -mean_of(0, steps.size()) * static_cast<double>(count);
  for (std::size_t part = 0; part < count; ++part) {
    const double mean = mean_of(begin_of(part), begin_of(part + 1));
    std::size_t nearest = begin_of(part);
    for (std::size_t i = nearest; i < begin_of(part + 1); ++i)
      if (std::abs(length(steps[i]) - mean) < std::abs(length(steps[nearest]) - mean)) nearest = i;
    chosen.push_back(nearest);
    excess += length(steps[nearest]);
  }
  for (std::size_t part = 0; part < count; ++part) {
    const double others = excess - length(steps[chosen[part]]);
    for (std::size_t i = begin_of(part); i < begin_of(part + 1); ++i)
      if (std::abs(others + length(steps[i])) < std::abs(others + length(steps[chosen[part]]))) chosen[part] = i;
    excess = others + length(steps[chosen[part]]);
  }
  std::vector<ChosenStep> out;
  out.reserve(chosen.size());
  for (const std::size_t i : chosen) out.push_back(steps[i]);
  return out;
}

// All complete steps, or so many that stand for them.
std::vector<ChosenStep> choose_steps(const TraceStore& store, const StepSegmentation& segmentation,
                                     const std::vector<ThreadIndex>& lanes) {
  const bool device = segmentation.paced_by == PacedBy::device;
  // The mean period is over steps that have a successor: of the others the circle would ask more than was measured.
  std::vector<ChosenStep> steps;
  for (const auto& window :
       device ? segmentation.device_windows(segmentation.pacing_device) : segmentation.host_windows())
    steps.push_back({{window.step, segmentation.steps[window.step].host}, window.time.length_ns()});
  if (steps.empty()) return steps;
  std::uint64_t slices = 0;
  for (const ChosenStep& step : steps) slices += slices_in(store, lanes, step.window.time);
  const std::uint64_t per_step = slices / steps.size() + 1;
  const std::uint64_t few = std::min<std::uint64_t>(kFewSteps, kMostSlicesOfFew / per_step);
  const std::size_t count = std::min(
      {steps.size(), kMostSteps, static_cast<std::size_t>(std::max<std::uint64_t>({1, few, kMostSlices / per_step}))});
  if (count < steps.size()) steps = spread(std::move(steps), count);
  std::sort(steps.begin(), steps.end(),
            [](const ChosenStep& a, const ChosenStep& b) { return a.window.step < b.window.step; });
  return steps;
}

// The longest stretch of the main thread inside a loader fed by worker processes, if long enough, is the wait for them.
void mark_arrivals(const TraceStore& store, const EventIndex& index, std::vector<LaneNode>& main) {
  const auto [first, last] = store.thread_ranges[index.main_thread.value];
  if (main.empty()) return;
  const auto begin = store.slices.start_ns.begin();
  auto row =
      static_cast<std::uint32_t>(std::lower_bound(begin + first, begin + last, main.front().node.start_ns) - begin);
  std::size_t at = 0;
  for (; row < last && store.slices.start_ns[row] < main.back().end_ns; ++row) {
    if (index.class_of(store, row) != NameClass::dataloader_next) continue;
    if (store.text(store.slices.name[row]).find("MultiProcessing") == std::string_view::npos) continue;
    const std::int64_t end = store.slice_end_ns(SliceId(row));
    while (at < main.size() && main[at].node.start_ns < store.slices.start_ns[row]) ++at;
    LaneNode* longest = nullptr;
    for (; at < main.size() && main[at].end_ns <= end; ++at)
      if (longest == nullptr || main[at].node.work_ns > longest->node.work_ns) longest = &main[at];
    if (longest != nullptr && longest->node.work_ns >= kFeedWaitNs) longest->node.kind = HostNodeKind::arrival;
  }
}

// Batches arrive at the pace of those who make them: from one that was waited for to the next one that was, whatever
// the loop does between. Steps follow each other in a circle.
void pace_arrivals(StepGraph& graph) {
  std::int64_t total = 0;
  for (const auto& step : graph.steps) total += step.end_ns - step.start_ns;
  std::int64_t before = 0;
  HostNode* first = nullptr;
  std::int64_t first_at = 0;
  std::int64_t last_at = 0;
  for (const auto& step : graph.steps) {
    for (std::uint32_t i = step.first; i < step.last; ++i) {
      HostNode& node = graph.nodes[i];
      if (node.kind != HostNodeKind::arrival) continue;
      const std::int64_t at = before + node.start_ns + node.work_ns - step.start_ns;
      if (first == nullptr) {
        first = &node;
        first_at = at;
      } else {
        node.lag_ns = at - last_at;
      }
      last_at = at;
      node.work_ns = 0;
    }
    before += step.end_ns - step.start_ns;
  }
  if (first != nullptr) first->lag_ns = total - last_at + first_at;
}

Result<void> run(const TraceStore& store, AnalysisResults& results, const AnalysisOptions&) {
  const EventIndex& index = *results.event_index;
  const StepSegmentation& segmentation = *results.step_segmentation;
  auto graph = std::make_shared<StepGraph>();
  graph->complete_steps = segmentation.complete_count;
  graph->on_processor = runs_on_processor(store);
  graph->measured_step_ns = segmentation.step_mean_ns;
  graph->lanes = index.launching_threads;
  if (graph->lanes.size() > kMostLanes) graph->lanes.resize(kMostLanes);
  DeviceOrder order(store, index, *results.device_timeline, *graph);
  for (const auto& [window, duration_ns] : choose_steps(store, segmentation, graph->lanes)) {
    std::vector<std::vector<LaneNode>> lanes;
    lanes.reserve(graph->lanes.size());
    for (std::size_t lane = 0; lane < graph->lanes.size(); ++lane)
      lanes.push_back(walk_lane(store, index, static_cast<std::uint16_t>(lane),
                                store.thread_ranges[graph->lanes[lane].value], window.time, lane == 0));
    if (!lanes.empty()) mark_arrivals(store, index, lanes[0]);
    StepGraph::Range range{window.step, static_cast<std::uint32_t>(graph->nodes.size()), 0, window.time.start_ns,
                           window.time.end_ns};
    for (const HostNode& node : join_lanes(std::move(lanes))) graph->nodes.push_back(node);
    range.last = static_cast<std::uint32_t>(graph->nodes.size());
    graph->steps.push_back(range);
  }
  order.link();
  add_implied_order(store, *results.device_timeline, *graph);
  pace_arrivals(*graph);
  measure_host_pace(store, *graph);
  results.step_graph = std::move(graph);
  return {};
}

}  // namespace

AnalysisDescriptor describe_step_graph() {
  return {
      "step_graph",
      "Step graph",
      "步依赖图",
      {"event_index", "device_timeline", "step_segmentation"},
      "What the complete steps consist of and what waits for what: threads in their own order, hand-overs to and "
      "from the autograd thread, launches and the device events that they start, streams in their order, waits "
      "between streams, calls that wait for the device, launches that a full queue blocks, batches from other "
      "processes. All complete steps, or at most 24 of them that stand for equal parts by duration, and no more than "
      "60,000 slices (200,000 where fewer than six steps hold that many).",
      run};
}

}  // namespace accel
