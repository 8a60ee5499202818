#include "analysis/what_if/what_if.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "analysis/analysis.h"
#include "analysis/distortion.h"
#include "analysis/step_graph/replay.h"
#include "analysis/step_graph/undisturbed.h"
#include "analysis/step_segmentation.h"
#include "analysis/what_if/matching.h"

namespace accel {
namespace {

// Whether something in the replayed steps has a name that the change asks for.
bool names_something(const TraceStore& store, const StepGraph& graph, const Transformation& change) {
  const Matching matching(store, change.patterns);
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const HostNode& node) { return matching.slice(node.slice); }) ||
         std::any_of(graph.events.begin(), graph.events.end(),
                     [&](const DeviceNode& event) { return matching.event(event.event); });
}

Result<void> run(const TraceStore& store, AnalysisResults& results, const AnalysisOptions& options) {
  auto what_if = std::make_shared<WhatIf>();
  const StepGraph& graph = *results.step_graph;
  if (graph.usable() && graph.measured_step_ns > 0) {
    what_if->usable = true;
    const Replay again = replay(graph, ReplayDetail::causes);
    const bool device = results.step_segmentation->paced_by == PacedBy::device;
    what_if->replayed_step_ns = device ? again.first_device_step_ns : again.first_host_step_ns;
    what_if->replay_error = std::abs(what_if->replayed_step_ns / graph.measured_step_ns - 1);
    what_if->steady_difference = again.step_ns / graph.measured_step_ns - 1;
    what_if->unexplained_share = critical_path(store, graph, again).unexplained_share;
    const StepGraph undisturbed = without_recording(graph, recording_cost(*results.distortion));
    const Replay steady = replay(undisturbed, ReplayDetail::constraints);
    what_if->path = critical_path(store, undisturbed, steady);
    what_if->slack = slack_off_path(store, undisturbed, steady);
    const Predictor predictor(store, results);
    what_if->base_ns = predictor.base_ns();
    what_if->device_slack_ns = predictor.device_slack_ns();
    what_if->host_slack_ns = predictor.host_slack_ns();
    for (const auto& question : options.what_if) {
      const bool named = std::all_of(question.begin(), question.end(), [&](const Transformation& change) {
        return names_something(store, graph, change);
      });
      what_if->answers.push_back({question, named ? predictor.predict(question) : Prediction(), named});
    }
  }
  results.what_if = std::move(what_if);
  return {};
}

}  // namespace

AnalysisDescriptor describe_what_if() {
  return {"what_if",
          "What-if and critical path",
          "假设分析与关键路径",
          {"event_index", "step_graph", "distortion", "efficiency"},
          "The step graph replayed: unchanged, to tell how far it is to be trusted; without the recording, for the "
          "critical path of the undisturbed step and the slack of what is off it; and with changes applied, for the "
          "step that these would give, with a band.",
          run};
}

}  // namespace accel
