#include "analysis/what_if/predictor.h"

#include <algorithm>
#include <cmath>
#include <string_view>

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
// The replay reproduces recorded steps to this at best: its ends are no better known.
constexpr double kReplayError = 0.03;
constexpr double kMostReplayError = 0.5;
// A step is longer when it is by this share.
constexpr double kLonger = 0.01;
// Wider bands held no truth on 27 pairs of five hosts' captures (benchmarks/diagnosis) that these do not hold.
constexpr double kWidestOfHost = 2;
constexpr double kWidestOfKernels = 3;
constexpr int kSlackSteps = 4;
constexpr double kSlopeShare = 0.98;

bool is_copy(std::string_view pattern) { return pattern.starts_with("Memcpy"); }

// Host time, waits and copies: what the change takes away was measured. Else kernels were replaced by a model of them.
bool is_about_the_host(std::span<const Transformation> transformations) {
  return std::all_of(transformations.begin(), transformations.end(), [](const Transformation& one) {
    switch (one.kind) {
      case TransformationKind::no_sync:
      case TransformationKind::data_ready:
      case TransformationKind::pin_overlap:
      case TransformationKind::graph:
      case TransformationKind::no_alloc:
      case TransformationKind::no_host:
        return true;
      case TransformationKind::scale:
        return !one.patterns.empty() && std::all_of(one.patterns.begin(), one.patterns.end(), is_copy);
      default:
        return false;
    }
  });
}

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
  if (graph.measured_step_ns > 0)
    replay_error_ =
        std::clamp(std::abs(replay(graph).step_ns / graph.measured_step_ns - 1), kReplayError, kMostReplayError);
  low_share_ = kLowShare;
  high_share_ = kHighShare;
}

// `step` says what a graph takes with an outcome of the changes.
template <typename Step>
Prediction Predictor::with_band(Step&& step, double widest) const {
  Prediction prediction;
  prediction.step_ns = step(likely_, Outcome::expected);
  const double low = std::min(low_share_ * prediction.step_ns, (1 - replay_error_) * step(quick_, Outcome::best));
  const double high = std::max(high_share_ * prediction.step_ns, (1 + replay_error_) * step(slow_, Outcome::worst));
  prediction.low_ns = std::max(low, prediction.step_ns / std::sqrt(widest));
  prediction.high_ns = std::min(high, prediction.step_ns * std::sqrt(widest));
  return prediction;
}

Prediction Predictor::predict(std::span<const Transformation> transformations) const {
  return with_band(
      [&](const StepGraph& graph, Outcome outcome) {
        return correction_ * replay(transformed(graph, context_, transformations, outcome)).step_ns;
      },
      is_about_the_host(transformations) ? kWidestOfHost : kWidestOfKernels);
}

std::optional<Prediction> Predictor::predict_without_steps(std::span<const std::uint32_t> steps) const {
  const auto left_out = [&](const StepGraph::Range& range) {
    return std::binary_search(steps.begin(), steps.end(), range.step);
  };
  if (std::all_of(likely_.steps.begin(), likely_.steps.end(), left_out)) return std::nullopt;
  return with_band(
      [&](const StepGraph& graph, Outcome) {
        StepGraph others = graph;
        std::erase_if(others.steps, left_out);
        return correction_ * replay(others).step_ns;
      },
      kWidestOfHost);
}

double Predictor::device_slack_ns() const { return slack_ns(true); }
double Predictor::host_slack_ns() const { return slack_ns(false); }

// The largest factor that leaves the step as it is. The step is the longest of many sums of parts that the factor
// stretches and parts that it does not: convex in the factor, so that Newton's method comes down to it from above.
double Predictor::slack_ns(bool device) const {
  double own = 0;
  for (const DeviceNode& event : likely_.events) own += device ? static_cast<double>(event.dur_ns) : 0;
  for (const HostNode& node : likely_.nodes) own += device ? 0 : static_cast<double>(node.work_ns);
  const double steps = static_cast<double>(std::max<std::size_t>(1, likely_.steps.size()));
  own /= steps;
  if (own <= 0) return 0;
  StepGraph changed = likely_;
  const auto stretched = [&](std::int64_t ns, double factor) {
    return static_cast<std::int64_t>(static_cast<double>(ns) * factor);
  };
  const auto step = [&](double factor) {
    if (device) {
      for (std::size_t i = 0; i < changed.events.size(); ++i)
        changed.events[i].dur_ns = stretched(likely_.events[i].dur_ns, factor);
    } else {
      for (std::size_t i = 0; i < changed.nodes.size(); ++i)
        changed.nodes[i].work_ns = stretched(likely_.nodes[i].work_ns, factor);
    }
    return replay(changed).step_ns;
  };
  const double base = step(1);
  const double longest = (1 + kLonger) * base;
  double factor = 1 + 2 * base / own;
  for (int i = 0; i < kSlackSteps; ++i) {
    const double now = step(factor);
    if (now <= longest) break;
    const double below = 1 + (factor - 1) * kSlopeShare;
    const double slope = (now - step(below)) / (factor - below);
    if (slope <= 0) break;
    factor = std::max(1.0, factor - (now - longest) / slope);
  }
  return (factor - 1) * own;
}

}  // namespace accel
