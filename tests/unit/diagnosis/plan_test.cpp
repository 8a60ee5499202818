#include "diagnosis/plan.h"

#include <gtest/gtest.h>

#include "diagnosis/ledger.h"
#include "support/synthetic_job.h"

namespace accel {
namespace {

using test::SyntheticJob;

StepView view_of(double step_ms) {
  StepView view;
  view.usable = true;
  view.step_ns = view.step_low_ns = view.step_high_ns = step_ms * 1e6;
  view.undisturbed.window_ns = view.step_ns;
  return view;
}

Finding finding_of(std::string_view rule, double claimed_ms, double step_ms,
                   FindingSeverity severity = FindingSeverity::warning) {
  Finding finding;
  finding.rule = rule;
  finding.severity = severity;
  finding.claimed_ns = static_cast<std::int64_t>(claimed_ms * 1e6);
  finding.gain.step_ms = finding.gain.step_low_ms = finding.gain.step_high_ms = step_ms - claimed_ms;
  return finding;
}

TEST(Plan, GoesByTheTimeThatAnActionSaves) {
  std::vector<Finding> findings{finding_of("small", 1, 20), finding_of("large", 8, 20),
                                finding_of("idea", 9, 20, FindingSeverity::info)};
  order_findings(findings);
  EXPECT_EQ(findings[0].id, "large");
  EXPECT_EQ(findings[1].id, "small");
  EXPECT_EQ(findings[2].id, "idea");
  const auto plan = make_plan(view_of(20), findings);
  ASSERT_EQ(plan.size(), 2U) << "info is no step of a plan";
  EXPECT_DOUBLE_EQ(*plan[0].expected_step_ms, 12);
  EXPECT_DOUBLE_EQ(*plan[1].expected_step_ms, 11);
  EXPECT_NEAR(*plan[1].cumulative_speedup, 20.0 / 11, 1e-9);
}

TEST(Plan, APrerequisiteComesFirstAlthoughItSavesLess) {
  std::vector<Finding> findings{finding_of("launch_bound", 12, 20),
                                finding_of("implicit_sync", 1, 20, FindingSeverity::info)};
  findings[1].prerequisite_of = {"launch_bound"};
  order_findings(findings);
  EXPECT_EQ(findings[0].rule, "launch_bound");
  const auto plan = make_plan(view_of(20), findings);
  ASSERT_EQ(plan.size(), 2U);
  EXPECT_EQ(plan[0].rule, "implicit_sync");
  EXPECT_EQ(plan[1].rule, "launch_bound");
}

TEST(Plan, FindingsOfOneRuleHaveIdsOfTheirOwn) {
  std::vector<Finding> findings{finding_of("a", 3, 20), finding_of("a", 2, 20)};
  order_findings(findings);
  EXPECT_EQ(findings[0].id, "a");
  EXPECT_EQ(findings[1].id, "a#2");
}

TEST(Ledger, FindingsThatShareTimeNeverGetMoreThanExists) {
  // A straggler's excess and exposed communication are the same 1,150 ms: claimed by both, given once.
  StepView view = view_of(2000);
  view.undisturbed.communication_exposed_ns = 1150e6;
  Ledger ledger(view);
  Claim straggler, exposed;
  straggler.communication_ns = 1117e6;
  exposed.communication_ns = 1150e6;
  EXPECT_DOUBLE_EQ(ledger.grant(straggler), 1117e6);
  EXPECT_DOUBLE_EQ(ledger.grant(exposed), 33e6);
  EXPECT_DOUBLE_EQ(ledger.left().communication_ns, 0);
}

TEST(Ledger, CostsOfAllFindingsStayWithinTheStep) {
  SyntheticJob job;
  for (int step = 0; step < 5; ++step) {
    job.begin_step();
    const double start = job.now;
    job.silence(5'000);
    job.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", start, job.now);
    job.copy({CopyDirection::host_to_device, MemoryKind::pageable, MemoryKind::device, 40'000'000, 4'000, 7});
    job.call("cudaMalloc", 700);
    for (int i = 0; i < 200; ++i) {
      job.launch("aten::add", "add", 20, 5);
      if (i % 10 == 0) job.wait("aten::_local_scalar_dense");
    }
    job.end_step();
    job.silence(5);
  }
  const auto outcome = job.diagnose();
  ASSERT_GE(outcome.diagnosis.findings.size(), 4U);
  double cost = 0, claimed = 0, share = 0;
  for (const Finding& finding : outcome.diagnosis.findings) {
    cost += finding.cost_ms_per_step;
    claimed += static_cast<double>(finding.claimed_ns) / 1e6;
    share += finding.share_of_step;
    EXPECT_GT(*finding.gain.max_possible_speedup, 1);
  }
  EXPECT_LE(share, 1.0 + 1e-9);
  EXPECT_NEAR(cost, claimed, 1e-3);
  for (std::size_t i = 1; i < outcome.diagnosis.plan.size(); ++i) {
    EXPECT_LE(*outcome.diagnosis.plan[i].expected_step_low_ms, *outcome.diagnosis.plan[i - 1].expected_step_low_ms);
    EXPECT_GT(*outcome.diagnosis.plan[i].expected_step_low_ms, 0);
  }
}

}  // namespace
}  // namespace accel
