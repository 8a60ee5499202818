#include "analysis/what_if/predictor.h"

#include <algorithm>

#include "analysis/distortion.h"
#include "analysis/event_index.h"
#include "analysis/step_graph/replay.h"
#include "analysis/step_graph/undisturbed.h"
#include "analysis/step_segmentation.h"

namespace accel {
namespace {

// No run of a job is better known than this.
constexpr double kLowShare = 0.93;
constexpr double kHighShare = 1.08;
// The replay reproduces recorded steps to this: its ends are no better known.
constexpr double kReplayError = 0.03;
// A step is longer when it is by this share.
constexpr double kLonger = 0.01;
constexpr int kSlackSteps = 8;

}  // namespace

Predictor::Predictor(const TraceStore& store, const AnalysisResults& results)
    : context_{store, *results.event_index, results.efficiency.get()} {
  const StepGraph& graph = *results.step_graph;
  const Distortion& distortion = *results.distortion;
  if (!graph.usable()) return;
  likely_ = without_recording(graph, recording_cost(distortion));
  quick_ = without_recording(graph, most_recording_cost(distortion));
  slow_ = without_recording(graph, least_recording_cost(distortion));
  const double again = replay(likely_).step_ns;
  if (again <= 0) return;
  base_ns_ = distortion.undisturbed_step_ns;
  correction_ = base_ns_ / again;
  low_share_ = kLowShare;
  high_share_ = kHighShare;
}

Prediction Predictor::predict(std::span<const Transformation> transformations) const {
  const auto step = [&](const StepGraph& graph, Outcome outcome) {
    return correction_ * replay(transformed(graph, context_, transformations, outcome)).step_ns;
  };
  Prediction prediction;
  prediction.step_ns = step(likely_, Outcome::expected);
  prediction.low_ns = std::min(low_share_ * prediction.step_ns, (1 - kReplayError) * step(quick_, Outcome::best));
  prediction.high_ns = std::max(high_share_ * prediction.step_ns, (1 + kReplayError) * step(slow_, Outcome::worst));
  return prediction;
}

double Predictor::device_slack_ns() const { return slack_ns(true); }
double Predictor::host_slack_ns() const { return slack_ns(false); }

// The largest factor that leaves the step as it is, by halving.
double Predictor::slack_ns(bool device) const {
  double own = 0;
  for (const DeviceNode& event : likely_.events) own += device ? static_cast<double>(event.dur_ns) : 0;
  for (const HostNode& node : likely_.nodes) own += device ? 0 : static_cast<double>(node.work_ns);
  const double steps = static_cast<double>(std::max<std::size_t>(1, likely_.steps.size()));
  own /= steps;
  if (own <= 0) return 0;
  const double base = replay(likely_).step_ns;
  const auto fits = [&](double factor) {
    StepGraph changed = likely_;
    for (DeviceNode& event : changed.events)
      if (device) event.dur_ns = static_cast<std::int64_t>(static_cast<double>(event.dur_ns) * factor);
    for (HostNode& node : changed.nodes)
      if (!device) node.work_ns = static_cast<std::int64_t>(static_cast<double>(node.work_ns) * factor);
    return replay(changed).step_ns <= (1 + kLonger) * base;
  };
  double low = 1;
  double high = std::max(1.0, 2 * base / own);
  for (int i = 0; i < kSlackSteps; ++i) {
    const double middle = (low + high) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return (low - 1) * own;
}

}  // namespace accel
