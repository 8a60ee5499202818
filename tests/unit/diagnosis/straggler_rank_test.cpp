#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "unit/diagnosis/small_job.h"

namespace accel {
namespace {

std::string evidence_of(const Finding& finding) {
  std::string text;
  for (const Evidence& one : finding.evidence) text += one.text + "\n";
  return text;
}

TEST(StragglerRank, names_rank_host_and_how_late_in_one_sentence) {
  SmallJob job;
  job.late_rank = 3;
  job.host_late_ns = 10'000'000;
  job.host = "node7";
  const Diagnosis diagnosis = job.diagnosis();
  const Finding* finding = find_rule(diagnosis, "straggler_rank");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(
      finding->title,
      "All-reduce held up by rank 3 on host node7: its host does something outside of every op, 10.0 ms later than "
      "its peers in every step");
  ASSERT_FALSE(finding->where.empty());
  EXPECT_EQ(finding->where[0].rank, 3);
  EXPECT_EQ(finding->where[0].host, "node7");
  EXPECT_EQ(finding->where[0].device, 0);
  EXPECT_EQ(diagnosis.verdict.bound_by, BoundBy::communication);
  EXPECT_TRUE(diagnosis.verdict.sentence.starts_with(finding->title)) << diagnosis.verdict.sentence;
  EXPECT_LT(*finding->gain.step_ms, 19.0);
}

TEST(StragglerRank, is_silent_when_all_arrive_together) {
  EXPECT_EQ(find_rule(SmallJob{}.diagnosis(), "straggler_rank"), nullptr);
}

TEST(StragglerRank, a_lateness_below_a_fiftieth_of_a_step_is_nobodys_fault) {
  SmallJob job;
  job.late_rank = 1;
  job.host_late_ns = 100'000;
  EXPECT_EQ(find_rule(job.diagnosis(), "straggler_rank"), nullptr);
}

TEST(StragglerRank, a_delay_of_one_step_that_costs_little_is_told_without_alarm) {
  SmallJob job;
  job.late_rank = 2;
  job.host_late_ns = 10'000'000;
  job.steps = 50;
  job.late_in = {30};
  const Diagnosis diagnosis = job.diagnosis();
  const Finding* finding = find_rule(diagnosis, "straggler_rank");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, FindingSeverity::info);
  EXPECT_NE(finding->title.find("held up by rank 2"), std::string::npos) << finding->title;
  EXPECT_NE(finding->title.find("in one of 50 steps, which costs the job little"), std::string::npos) << finding->title;
  EXPECT_NE(evidence_of(*finding).find("one-off"), std::string::npos);
  EXPECT_TRUE(diagnosis.plan.empty() || diagnosis.plan.front().rule != "straggler_rank");
  EXPECT_NE(diagnosis.verdict.sentence.find("no rank holds the others up"), std::string::npos);
}

TEST(StragglerRank, says_at_what_distance_a_delay_comes_again) {
  SmallJob job;
  job.late_rank = 2;
  job.host_late_ns = 10'000'000;
  job.steps = 9;
  job.late_in = {1, 4, 7};
  const Diagnosis diagnosis = job.diagnosis();
  const Finding* finding = find_rule(diagnosis, "straggler_rank");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->title.find("10.0 ms later than its peers in every third step"), std::string::npos)
      << finding->title;
}

TEST(StragglerRank, a_missing_rank_lowers_what_is_claimed) {
  SmallJob job;
  job.late_rank = 3;
  job.host_late_ns = 10'000'000;
  const double sure = find_rule(job.diagnosis(), "straggler_rank")->confidence;
  std::vector<fusion::RankDigest> digests = job.job().set.ranks;
  digests.erase(digests.begin());
  const Diagnosis diagnosis = diagnose_job(fusion::fuse(std::move(digests)));
  const Finding* finding = find_rule(diagnosis, "straggler_rank");
  ASSERT_NE(finding, nullptr);
  EXPECT_LT(finding->confidence, sure);
}

TEST(StragglerRank, names_the_counters_in_which_the_late_rank_differs) {
  SmallJob small;
  small.late_rank = 3;
  small.host_late_ns = 10'000'000;
  small.host = "node7";
  std::vector<fusion::RankDigest> digests = small.job().set.ranks;
  for (fusion::RankDigest& digest : digests) {
    const bool late = digest.rank == 3;
    digest.counters = {{"sm_clock_mhz", 20, late ? 1200.0 : 1980.0, 1200, 1980},
                       {"gpu_power_w", 20, 600 + static_cast<double>(*digest.rank), 590, 610},
                       {"port_rcv_errors", 20, 5, 0, late ? 400.0 : 0.0}};
  }
  const Diagnosis diagnosis = diagnose_job(fusion::fuse(digests));
  const Finding* finding = find_rule(diagnosis, "straggler_rank");
  ASSERT_NE(finding, nullptr);
  const std::string evidence = evidence_of(*finding);
  EXPECT_NE(evidence.find("rank 3 runs on host node7, device 0"), std::string::npos) << evidence;
  EXPECT_NE(evidence.find("sm_clock_mhz: clock of its processors (its peers: 1980)"), std::string::npos) << evidence;
  EXPECT_NE(evidence.find("port_rcv_errors: errors of the network's port (its peers: 0)"), std::string::npos)
      << evidence;
  EXPECT_EQ(evidence.find("gpu_power_w"), std::string::npos) << evidence;
  EXPECT_EQ(evidence.find("unknown beyond this"), std::string::npos) << evidence;
}

TEST(StragglerRank, says_that_the_cause_is_unknown_beyond_the_trace_without_counters) {
  SmallJob job;
  job.late_rank = 3;
  job.host_late_ns = 10'000'000;
  const Diagnosis diagnosis = job.diagnosis();
  const Finding* finding = find_rule(diagnosis, "straggler_rank");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(evidence_of(*finding).find("no counters of devices, hosts or networks were recorded"), std::string::npos);
}

TEST(StragglerRank, says_what_a_step_takes_without_the_delay) {
  SmallJob job;
  job.late_rank = 3;
  job.host_late_ns = 10'000'000;
  const Diagnosis diagnosis = job.diagnosis();
  const Finding* finding = find_rule(diagnosis, "straggler_rank");
  ASSERT_NE(finding, nullptr);
  const auto at = std::find_if(finding->evidence.begin(), finding->evidence.end(), [](const Evidence& one) {
    return one.text.starts_with("a step as recorded without that delay");
  });
  ASSERT_NE(at, finding->evidence.end());
  EXPECT_NEAR(at->value, 9.0, 0.1);  // 8 ms of compute and 1 ms of transfer
}

TEST(StragglerRank, names_a_whole_host_once) {
  SmallJob small;
  small.ranks = 6;
  small.late_rank = 4;
  small.host_late_ns = 10'000'000;
  const fusion::Job job = small.job();
  std::vector<fusion::RankDigest> digests;
  for (std::int64_t rank = 0; rank < 6; ++rank) {
    fusion::RankDigest digest = job.set.ranks[static_cast<std::size_t>(rank < 4 ? rank : 4)];
    digest.rank = rank;
    digest.source = "rank" + std::to_string(rank);
    digest.host = rank < 2 ? "a" : rank < 4 ? "b" : "c";
    digests.push_back(std::move(digest));
  }
  const Diagnosis diagnosis = diagnose_job(fusion::fuse(std::move(digests)));
  std::size_t findings = 0;
  for (const Finding& finding : diagnosis.findings) findings += finding.rule == "straggler_rank" ? 1 : 0;
  EXPECT_EQ(findings, 1U);
  const Finding* finding = find_rule(diagnosis, "straggler_rank");
  ASSERT_NE(finding, nullptr);
  EXPECT_TRUE(finding->title.starts_with("All-reduce held up by all of host c (ranks 4, 5): ")) << finding->title;
  EXPECT_NE(finding->title.find("10.0 ms later than their peers in every step"), std::string::npos) << finding->title;
}

}  // namespace
}  // namespace accel
