#include "diagnosis/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/what_if/predictor.h"

namespace accel {
namespace {

bool is_info(const Finding& finding) { return finding.severity == FindingSeverity::info; }

bool prepares(const Finding& finding, const Finding& later) {
  return std::find(finding.prerequisite_of.begin(), finding.prerequisite_of.end(), later.rule) !=
         finding.prerequisite_of.end();
}

// What is worth acting on, and what stands in the way of that, however little it costs itself.
std::vector<const Finding*> in_plan_order(std::span<const Finding> findings) {
  std::vector<const Finding*> plan;
  const auto planned = [&](const Finding& finding) {
    return std::find(plan.begin(), plan.end(), &finding) != plan.end();
  };
  for (const Finding& finding : findings) {
    if (is_info(finding) || planned(finding)) continue;
    for (const Finding& other : findings) {
      if (&other != &finding && prepares(other, finding) && !planned(other)) plan.push_back(&other);
    }
    plan.push_back(&finding);
  }
  return plan;
}

}  // namespace

void order_findings(std::vector<Finding>& findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    if (is_info(a) != is_info(b)) return is_info(b);
    return a.claimed_ns > b.claimed_ns;
  });
  std::map<std::string, int> seen;
  for (Finding& finding : findings) {
    const int count = ++seen[finding.rule];
    finding.id = count == 1 ? finding.rule : fmt::format("{}#{}", finding.rule, count);
  }
}

std::vector<PlanStep> make_plan(const StepView& view, std::span<const Finding> findings, const Predictor* predictor) {
  std::vector<PlanStep> plan;
  const double now_ms = view.step_ns / 1e6;
  double expected = now_ms, low = now_ms, high = now_ms;
  std::vector<Transformation> so_far;
  // What findings without a replay save, on top of what is replayed.
  double other = 0, other_low = 0, other_high = 0;
  // What no finding so far has claimed. Replayed and other savings may be the same time; together they save no more
  // than the claims, which are disjoint.
  double unclaimed = now_ms;
  const auto with_other = [&](double replayed_ms, double saved_ms) {
    return std::max({0.0, replayed_ms - saved_ms, std::min(replayed_ms, unclaimed)});
  };
  for (const Finding* finding : in_plan_order(findings)) {
    PlanStep step;
    step.order = static_cast<int>(plan.size()) + 1;
    step.finding_id = finding->id;
    step.rule = finding->rule;
    step.title = finding->action.title;
    // Each gain is stated against the whole step; what it saves is taken off what the steps before have left. No action
    // saves more than its finding's share of the time, which the ledger has kept disjoint.
    const double most_ms = static_cast<double>(finding->claimed_ns) / 1e6;
    unclaimed = std::max(0.0, unclaimed - most_ms);
    const auto saved = [&](const std::optional<double>& after) {
      return after ? std::clamp(now_ms - *after, 0.0, most_ms) : 0.0;
    };
    if (predictor != nullptr && predictor->usable() && !finding->remedies.empty()) {
      so_far.insert(so_far.end(), finding->remedies.begin(), finding->remedies.end());
      const Prediction together = predictor->predict(so_far);
      low = std::min(low, with_other(together.low_ns / 1e6, other_low));
      high = std::min(high, std::max(low, with_other(together.high_ns / 1e6, other_high)));
      expected = std::clamp(std::min(expected, with_other(together.step_ns / 1e6, other)), low, high);
    } else {
      other += saved(finding->gain.step_ms);
      other_low += saved(finding->gain.step_low_ms);
      other_high += saved(finding->gain.step_high_ms);
      low = with_other(low, saved(finding->gain.step_low_ms));
      high = with_other(high, saved(finding->gain.step_high_ms));
      expected = std::clamp(with_other(expected, saved(finding->gain.step_ms)), low, high);
    }
    step.expected_step_low_ms = low;
    step.expected_step_high_ms = high;
    if (finding->gain.step_ms) {
      step.expected_step_ms = expected;
      if (expected > 0) step.cumulative_speedup = now_ms / expected;
    }
    plan.push_back(std::move(step));
  }
  return plan;
}

}  // namespace accel
