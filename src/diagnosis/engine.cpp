#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "diagnosis/diagnosis.h"
#include "diagnosis/facts.h"
#include "diagnosis/ledger.h"
#include "diagnosis/plan.h"
#include "diagnosis/replayed_gains.h"
#include "diagnosis/verdict.h"

namespace accel {

#define FRAMEWORK(name)
#define RULE(name) RuleDescriptor name##_rule();
#include "diagnosis/catalog.def"
#undef RULE

const std::vector<RuleDescriptor>& rules() {
  static const std::vector<RuleDescriptor> all{
#define RULE(name) name##_rule(),
#include "diagnosis/catalog.def"
#undef RULE
  };
  return all;
}
#undef FRAMEWORK

namespace {

bool has_result(const AnalysisResults& results, std::string_view id) {
#define FRAMEWORK(name)
#define ANALYSIS(name, Type) \
  if (id == #name) return results.name != nullptr;
#include "analysis/catalog.def"
#undef ANALYSIS
#undef FRAMEWORK
  (void)results;
  return false;
}

bool can_run(const RuleDescriptor& rule, const AnalysisResults& results) {
  return std::all_of(rule.needs.begin(), rule.needs.end(),
                     [&](std::string_view id) { return has_result(results, id); });
}

// A finding of whose time others have explained more than this is their symptom and not said again, unless it stands in
// the way of another action.
constexpr double kExplained = 0.8;

// What of a finding's time others had claimed already is not promised twice: its cost becomes what is left for it.
// Returns the share that was left.
double cap(Finding& finding, const StepView& view, Ledger& ledger) {
  const double wanted = finding.claim.total_ns();
  const double granted = ledger.grant(finding.claim);
  finding.claimed_ns = std::llround(granted);
  if (wanted <= 0 || granted >= wanted) return 1;
  finding.cost_ms_per_step *= granted / wanted;
  finding.share_of_step *= granted / wanted;
  finding.severity = std::min(finding.severity, severity_of(finding.share_of_step));
  // A gain that counted on the whole of it is cut likewise.
  if (finding.gain.step_low_ms)
    finding.gain.step_low_ms = std::max(*finding.gain.step_low_ms, (view.step_ns - granted) / 1e6);
  if (finding.gain.step_ms) finding.gain.step_ms = std::max(*finding.gain.step_ms, *finding.gain.step_low_ms);
  if (finding.gain.step_high_ms)
    finding.gain.step_high_ms = std::max(*finding.gain.step_high_ms, *finding.gain.step_low_ms);
  return granted / wanted;
}

std::vector<Finding> run_rules(const DiagnosisInput& input) {
  std::vector<Finding> findings;
  Ledger ledger(input.facts.view);
  for (const bool generic : {false, true}) {
    for (const RuleDescriptor& rule : rules()) {
      if (rule.run == nullptr || rule.generic != generic || !can_run(rule, input.results)) continue;
      for (Finding& finding : rule.run(input, findings)) {
        const double left = cap(finding, input.facts.view, ledger);
        if (left < 1 - kExplained && finding.prerequisite_of.empty()) continue;
        findings.push_back(std::move(finding));
      }
    }
  }
  return findings;
}

}  // namespace

Diagnosis diagnose(const TraceStore& store, const AnalysisResults& results, const AnalysisOptions& options) {
  Diagnosis diagnosis;
  const Facts facts = gather_facts(store, results);
  const DiagnosisInput input{store, results, facts};
  if (facts.view.usable) {
    diagnosis.findings = run_rules(input);
    const bool replays = std::any_of(diagnosis.findings.begin(), diagnosis.findings.end(),
                                     [](const Finding& finding) { return !finding.remedies.empty(); });
    const std::optional<Predictor> predictor =
        replays && results.what_if ? std::optional<Predictor>(std::in_place, store, results) : std::nullopt;
    if (predictor) replay_gains(*predictor, diagnosis.findings);
    order_findings(diagnosis.findings);
    diagnosis.plan = make_plan(facts.view, diagnosis.findings, predictor ? &*predictor : nullptr);
  }
  diagnosis.verdict = make_verdict(input, diagnosis.findings, options);
  diagnosis.health = judge_health(facts.view, options);
  return diagnosis;
}

}  // namespace accel
