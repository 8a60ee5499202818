// The curve of a whole run: bounded in memory and in the file, and no part of the run is missing.
#include "runtime/session/run_record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runtime/buffer/clock.h"
#include "unit/format/native_files.h"

namespace accel::runtime {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

StepRecord step_at(std::int64_t index, double loss = 1) {
  const auto begin = static_cast<std::uint64_t>(index) * 1000;
  return {index, begin, begin + 1000, loss, 64, 10, index / 100, 0, WindowPlan::Phase::outside};
}

struct Rows {
  std::uint64_t steps = 0;
  std::int64_t next = 0;
  std::uint64_t rows = 0;
  void add(const RunRow& row) {
    EXPECT_GE(row.step, next) << "in order, nothing twice";
    next = row.step + row.steps;
    steps += row.steps;
    ++rows;
  }
};

TEST(RunRecord, the_curve_in_memory_never_has_more_than_its_rows_and_holds_every_step) {
  choose_clock();
  RunCurve curve;
  for (std::int64_t i = 0; i < 1'000'000; ++i) curve.add(RunRow::of(step_at(i)));
  Rows seen;
  curve.each([&](const RunRow& row) { seen.add(row); });
  EXPECT_EQ(seen.steps, 1'000'000U);
  EXPECT_LE(seen.rows, RunCurve::kRows + 1);
  EXPECT_GE(seen.rows, RunCurve::kRows / 2);
}

TEST(RunRecord, merged_rows_keep_means_sums_and_the_longest_step) {
  choose_clock();
  RunRow row = RunRow::of(step_at(0, 4));
  StepRecord second = step_at(1, kNone);
  second.end += 9'000'000'000;
  second.samples = 32;
  second.loader_wait_ns = -1;
  row.take(RunRow::of(second));
  row.take(RunRow::of(step_at(2, 1)));
  EXPECT_EQ(row.steps, 3U);
  EXPECT_NEAR(row.loss, (4 * 2 + 1) / 3.0, 1e-9) << "a step without a loss counts for the mean so far";
  EXPECT_DOUBLE_EQ(row.samples, 160);
  EXPECT_EQ(row.loader_wait_ns, 20);
  EXPECT_GT(row.longest_us, 1'000'000U);
  EXPECT_EQ(row.begin, 0U);
  EXPECT_EQ(row.end, 3000U);
}

TEST(RunRecord, missing_steps_leave_a_hole_between_rows_and_none_inside) {
  choose_clock();
  RowThinner thinner;
  thinner.set_stride(4);
  std::vector<RunRow> rows;
  RunRow out;
  for (const std::int64_t step : {0, 1, 10, 11, 12, 13, 14}) {
    if (thinner.add(RunRow::of(step_at(step)), out)) rows.push_back(out);
  }
  if (thinner.take(out)) rows.push_back(out);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].steps, 2U);
  EXPECT_EQ(rows[1].step, 10);
  EXPECT_EQ(rows[1].steps, 4U);
  EXPECT_EQ(rows[2].step, 14);
}

// Steps in all files of the folder, and their bytes.
std::pair<std::uint64_t, std::uint64_t> written_steps(const std::filesystem::path& folder) {
  std::map<std::int64_t, std::uint64_t> rows;
  std::uint64_t bytes_in_all = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string bytes = format::bytes_of(entry.path());
    bytes_in_all += bytes.size();
    const auto read = format::NativeReader::read(format::pull_from(bytes), [&](const format::NativeRows& chunk) {
      for (std::uint32_t row = 0; chunk.table() == "curve" && row < chunk.size(); ++row)
        rows[chunk.column("step").i64(row)] = chunk.column("steps").u64(row);
      return true;
    });
    EXPECT_TRUE(read.ok() && read->ended) << entry.path();
  }
  std::uint64_t steps = 0;
  for (const auto& [step, count] : rows) {
    EXPECT_EQ(static_cast<std::uint64_t>(step), steps) << "no step is missing";
    steps += count;
  }
  return {steps, bytes_in_all};
}

TEST(RunRecord, files_stay_within_their_budget_and_hold_the_whole_run_in_fewer_rows) {
  choose_clock();
  const format::TemporaryFolder folder;
  const std::string path = folder.path();
  constexpr std::uint64_t kBudget = 400'000;
  constexpr std::int64_t kSteps = 200'000;  // 12.8 MB as they are
  RunRecord* record = RunRecord::make(kBudget);
  ASSERT_NE(record, nullptr);
  std::int64_t now = 0;
  for (std::int64_t i = 0; i < kSteps; ++i) {
    record->push(step_at(i, 1 + static_cast<double>((i * 7919) % 1000) / 7));
    if (i % 200 == 0) record->drain({path.c_str(), 0, 1}, now += 1'000'000'000);
  }
  record->drain({path.c_str(), 0, 1}, now + 1'000'000'000);
  record->finish();
  RunRecord::destroy(record);
  const auto [steps, bytes] = written_steps(folder.path());
  EXPECT_EQ(steps, static_cast<std::uint64_t>(kSteps));
  EXPECT_LT(bytes, kBudget * 5 / 4) << "what the file needs beside its rows comes on top";
}

TEST(RunRecord, a_folder_that_cannot_be_written_leaves_the_curve_in_memory) {
  choose_clock();
  RunRecord* record = RunRecord::make(RunRecord::kDefaultBudget);
  ASSERT_NE(record, nullptr);
  for (int i = 0; i < 10; ++i) record->push(step_at(i));
  record->drain({"/proc/no/such/folder", -1, -1}, 1);
  EXPECT_NE(record->error(), 0);
  Rows seen;
  record->curve().each([&](const RunRow& row) { seen.add(row); });
  EXPECT_EQ(seen.steps, 10U);
  RunRecord::destroy(record);
}

}  // namespace
}  // namespace accel::runtime
