#include "diagnosis/job_diagnosis.h"

#include <fmt/format.h>

#include <algorithm>

#include "diagnosis/job_parts.h"
#include "diagnosis/late_rank.h"
#include "diagnosis/plan.h"
#include "diagnosis/step_view.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

using fusion::Job;

// A rank without its file may be the one that the others wait for.
constexpr double kMissingRankTrust = 0.8;
constexpr double kDivergedTrust = 0.5;

JobInput input_of(const Job& job) {
  JobInput input{job};
  const fusion::StragglerAnalysis& analysis = job.stragglers;
  input.step_ns = analysis.measured_step_ns;
  input.step_low_ns = input.step_high_ns = input.step_ns;
  if (analysis.undisturbed_step) {
    input.step_ns = analysis.undisturbed_step->expected_ns;
    input.step_low_ns = analysis.undisturbed_step->low_ns;
    input.step_high_ns = analysis.undisturbed_step->high_ns;
  }
  if (!job.set.missing.empty()) input.trust *= kMissingRankTrust;
  if (std::any_of(job.matching.divergences.begin(), job.matching.divergences.end(),
                  [](const fusion::Divergence& divergence) { return !divergence.records_lost; }))
    input.trust *= kDivergedTrust;
  return input;
}

double mean_share(const Job& job, auto part) {
  double sum = 0;
  double windows = 0;
  for (const fusion::RankDigest& digest : job.set.ranks) {
    for (const fusion::DeviceParts& parts : digest.breakdown) {
      if (parts.count == 0 || parts.undisturbed.window_ns <= 0) continue;
      sum += static_cast<double>(part(parts.undisturbed)) / static_cast<double>(parts.undisturbed.window_ns);
      ++windows;
    }
  }
  return windows > 0 ? sum / windows : 0;
}

// Somebody comes last in every step. Said where it would be a delay if it were one rank's.
std::string who_is_late(const JobInput& input) {
  const double chance = input.job.stragglers.late_by_chance_ns;
  if (input.share(chance) < kLateRankShare) return "no rank holds the others up";
  return fmt::format("no rank is reliably later than the others (late arrivals of {} a step may be chance)",
                     ms_text(chance));
}

// Where a job that nobody holds up spends its step.
Verdict plain_verdict(const JobInput& input) {
  Verdict verdict;
  const double compute = mean_share(input.job, [](const TimeParts& parts) { return parts.compute_ns; });
  const double host = mean_share(input.job, [](const TimeParts& parts) {
    return parts.idle_ns - parts.idle_causes[static_cast<std::size_t>(IdleCause::communication)];
  });
  // Waiting on the host for other ranks is communication too.
  const double exposed =
      std::min(1.0, input.job.stragglers.exposed_ns / std::max(1.0, input.job.stragglers.measured_step_ns));
  const std::string shares = fmt::format("kernels run {} of it, communication that nothing hides takes {}",
                                         percent_text(compute), percent_text(exposed));
  const std::string nobody = who_is_late(input);
  constexpr double kSetsPace = 0.5;
  if (exposed >= 0.25 && exposed >= compute) {
    verdict.bound_by = BoundBy::communication;
  } else if (compute >= kSetsPace) {
    verdict.bound_by = BoundBy::gpu_compute;
  } else if (host >= kSetsPace) {
    verdict.bound_by = BoundBy::host;
  } else {
    verdict.bound_by = BoundBy::mixed;
  }
  verdict.sentence = fmt::format("Of {} ranks {}: a step takes {} without the recording; {}.",
                                 input.job.set.ranks.size(), nobody, ms_text(input.step_ns), shares);
  verdict.confidence = 0.8 * input.trust;
  return verdict;
}

// A delay that does not come in every step costs more where it comes.
std::string loss_text(const JobInput& input, const Finding& finding) {
  const std::string a_step = ms_text(finding.cost_ms_per_step * 1e6);
  for (const fusion::Straggler& straggler : input.job.stragglers.stragglers) {
    const bool meant =
        !finding.where.empty() && finding.where.front().rank == input.job.set.ranks[straggler.ranks.front()].rank;
    if (!meant || straggler.steps_late == straggler.steps) continue;
    const double times = static_cast<double>(straggler.steps) / static_cast<double>(straggler.steps_late);
    return fmt::format("{}; the job loses about {} each time, {} of {} a step over the steps recorded.", finding.title,
                       ms_text(straggler.undisturbed_cost.expected_ns * times), a_step, ms_text(input.step_ns));
  }
  return fmt::format("{}; the job loses about {} of {} a step.", finding.title, a_step, ms_text(input.step_ns));
}

Verdict make_job_verdict(const JobInput& input, const std::vector<Finding>& findings) {
  if (input.job.matching.collectives.empty()) {
    Verdict verdict;
    verdict.sentence = fmt::format(
        "Of {} ranks no two can be compared: no collective of one could be matched with one of another; the notes say "
        "why.",
        input.job.set.ranks.size());
    return verdict;
  }
  Verdict verdict = plain_verdict(input);
  for (const Finding& finding : findings) {
    if (finding.severity == FindingSeverity::info) continue;
    if (finding.rule == "straggler_rank" || finding.rule == "collective_imbalance") {
      verdict.bound_by = BoundBy::communication;
      verdict.sentence = loss_text(input, finding);
      verdict.confidence = finding.confidence;
      return verdict;
    }
  }
  return verdict;
}

}  // namespace

Diagnosis diagnose_job(const Job& job) {
  Diagnosis diagnosis;
  const JobInput input = input_of(job);
  for (const RuleDescriptor& rule : rules()) {
    if (rule.run_job == nullptr || input.step_ns <= 0) continue;
    for (Finding& finding : rule.run_job(input, diagnosis.findings)) diagnosis.findings.push_back(std::move(finding));
  }
  order_findings(diagnosis.findings);
  StepView view;
  view.step_ns = input.step_ns;
  view.step_low_ns = input.step_low_ns;
  view.step_high_ns = input.step_high_ns;
  diagnosis.plan = make_plan(view, diagnosis.findings, nullptr);
  diagnosis.verdict = make_job_verdict(input, diagnosis.findings);
  return diagnosis;
}

}  // namespace accel
