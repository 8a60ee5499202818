#include "compare/comparison.h"

#include <gtest/gtest.h>

#include <numeric>

namespace accel::compare {
namespace {

StepForm form(std::int64_t compute, std::int64_t copies, std::int64_t idle_host, std::int64_t idle_sync) {
  return {compute + copies + idle_host + idle_sync,
          {{"compute", compute},
           {"copies", copies},
           {"idle.host_compute", idle_host},
           {"idle.synchronization", idle_sync}}};
}

RunFigures before_run() {
  RunFigures run;
  run.measured = form(7'000'001, 999'999, 3'333'333, 1);
  run.undisturbed = form(7'000'001, 999'999, 1'111'111, 0);
  run.steps_ns = {11'333'000, 11'334'000, 11'333'500, 11'332'900};
  run.work = {{"aten::mm", "[[64, 64]]", "[\"float\"]", "sgemm", 10, 5'000'000.4},
              {"aten::add", "[[64]]", "[\"float\"]", "add", 3, 2'100'000.3},
              {"", "", "", "graph_kernel", 1, 900'000}};
  run.environment = {{"cuda_driver_version", "12040"}, {"with_stack", "1"}};
  return run;
}

RunFigures after_run() {
  RunFigures run;
  run.measured = form(2'000'003, 0, 5'000'000, 7);
  run.undisturbed = form(2'000'003, 0, 1'000'000, 0);
  run.steps_ns = {7'000'000, 7'000'100, 6'999'900, 7'000'050};
  run.work = {{"aten::mm", "[[64, 64]]", "[\"float\"]", "tf32gemm", 10, 1'000'000.9},
              {"aten::mul", "[[64]]", "[\"float\"]", "mul", 3, 1'000'000.2}};
  run.environment = {{"cuda_driver_version", "13000"}};
  return run;
}

std::int64_t sum(const std::vector<Change>& rows) {
  return std::accumulate(rows.begin(), rows.end(), std::int64_t{0},
                         [](std::int64_t total, const Change& row) { return total + row.delta_ns(); });
}

TEST(Comparison, PartsAddUpToTheDifferenceToTheNanosecond) {
  const Comparison result = compare_runs(before_run(), after_run());
  ASSERT_TRUE(result.measured && result.undisturbed);
  EXPECT_EQ(sum(result.measured->parts), result.measured->delta());
  EXPECT_EQ(sum(result.undisturbed->parts), result.undisturbed->delta());
}

TEST(Comparison, WorkAndOpsAndTheirRestAddUpToTheWorkingTime) {
  const Comparison result = compare_runs(before_run(), after_run());
  EXPECT_EQ(result.busy_delta_ns, 2'000'003 - 8'000'000);
  EXPECT_EQ(sum(result.work.rows) + result.work.rest_ns, result.busy_delta_ns);
  EXPECT_EQ(sum(result.ops.rows) + result.ops.rest_ns, result.busy_delta_ns);
}

TEST(Comparison, ModulesAndAnnotationsAddUpToTheWorkingTimeWhereBothRunsRecordThem) {
  RunFigures before = before_run(), after = after_run();
  before.modules = {{"Net/Linear[0]", 1, 3'000'000}, {"Net/Old", 1, 500'000}};
  before.annotations = {{"forward", 1, 3'500'000}};
  after.annotations = {{"forward", 1, 900'000}};
  Comparison result = compare_runs(before, after);
  EXPECT_TRUE(result.modules.rows.empty());
  EXPECT_EQ(result.modules.rest_ns, result.busy_delta_ns);
  ASSERT_FALSE(result.not_comparable.empty());
  EXPECT_EQ(sum(result.annotations.rows) + result.annotations.rest_ns, result.busy_delta_ns);
  after.modules = {{"Net/Linear[0]", 1, 700'000}, {"Net/New", 2, 200'000}};
  result = compare_runs(before, after);
  ASSERT_EQ(result.modules.rows.size(), 3U);
  EXPECT_EQ(result.modules.rows[0].delta_ns(), -2'300'000);
  EXPECT_EQ(result.modules.rows[1].status, Status::vanished);
  EXPECT_EQ(result.modules.rows[2].status, Status::appeared);
  EXPECT_EQ(sum(result.modules.rows) + result.modules.rest_ns, result.busy_delta_ns);
}

TEST(Comparison, KernelsAppearVanishAndChangeUnderTheSameOpAndShape) {
  const Comparison result = compare_runs(before_run(), after_run());
  const auto status = [&](std::string_view name) {
    for (const Change& row : result.work.rows) {
      if (row.name == name) return row.status;
    }
    return Status::both;
  };
  EXPECT_EQ(status("sgemm"), Status::vanished);
  EXPECT_EQ(status("tf32gemm"), Status::appeared);
  ASSERT_EQ(result.implementations.size(), 1U);
  EXPECT_EQ(result.implementations[0].op, "aten::mm");
  EXPECT_EQ(result.implementations[0].before, std::vector<std::string>{"sgemm"});
  EXPECT_EQ(result.implementations[0].after, std::vector<std::string>{"tf32gemm"});
}

TEST(Comparison, TheSameRunIsNoChange) {
  const Comparison result = compare_runs(before_run(), before_run());
  EXPECT_EQ(result.measured->verdict, Verdict::same);
  EXPECT_EQ(result.measured->delta(), 0);
  EXPECT_TRUE(result.implementations.empty());
  EXPECT_TRUE(result.environment.empty());
  for (const Change& row : result.work.rows) EXPECT_EQ(row.delta_ns(), 0);
}

TEST(Comparison, ADifferenceWithinTheNoiseIsNone) {
  RunFigures before = before_run();
  RunFigures after = before;
  before.steps_ns = {10'000'000, 12'000'000, 9'000'000, 11'000'000};
  after.steps_ns = {10'500'000, 12'500'000, 9'600'000, 11'400'000};
  EXPECT_EQ(compare_runs(before, after).measured->verdict, Verdict::same);
  after.steps_ns = {15'000'000, 17'000'000, 14'000'000, 16'000'000};
  EXPECT_EQ(compare_runs(before, after).measured->verdict, Verdict::slower);
  after.steps_ns = {15'000'000};
  EXPECT_EQ(compare_runs(before, after).measured->verdict, Verdict::unknown);
}

TEST(Comparison, BandsThatOverlapLeaveTheUndisturbedStepOpen) {
  RunFigures before = before_run();
  RunFigures after = after_run();
  before.undisturbed_low_ns = 8e6;
  before.undisturbed_high_ns = 10e6;
  after.undisturbed_low_ns = 2e6;
  after.undisturbed_high_ns = 9e6;
  EXPECT_EQ(compare_runs(before, after).undisturbed->verdict, Verdict::unknown);
  after.undisturbed_high_ns = 7e6;
  EXPECT_EQ(compare_runs(before, after).undisturbed->verdict, Verdict::faster);
}

TEST(Comparison, DifferentRecordingOptionsAreNamedBesideWhatTheyExplain) {
  const Comparison result = compare_runs(before_run(), after_run());
  ASSERT_EQ(result.environment.size(), 2U);
  EXPECT_EQ(result.environment[0].key, "cuda_driver_version");
  EXPECT_FALSE(result.environment[1].meaning.empty());
  EXPECT_FALSE(result.not_comparable.empty());
}

}  // namespace
}  // namespace accel::compare
