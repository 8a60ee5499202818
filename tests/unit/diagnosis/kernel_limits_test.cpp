#include "diagnosis/kernel_counters/counter_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "diagnosis/counter_reasons.h"
#include "diagnosis/kernel_counters/translation.h"
#include "diagnosis/sentences/sentences.h"
#include "support/synthetic_job.h"

namespace accel {
namespace {

constexpr const char* kOccupancy = "sm__warps_active.avg.pct_of_peak_sustained_active";
constexpr const char* kDram = "dram__throughput.avg.pct_of_peak_sustained_elapsed";
constexpr const char* kScattered = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio";

// Derived rows by what makes them.
std::map<std::string, double> planted(const MetricRow& row, double value) {
  if (row.name == "bank_conflict_share") {
    return {{"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", value},
            {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", 100}};
  }
  if (row.name == "spill_share") {
    return {{"l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", value / 2},
            {"l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum", value / 2},
            {"l1tex__t_sectors.sum", 100}};
  }
  if (row.name == "old_matrix_share") {
    return {{"sm__inst_executed_pipe_tensor_op_hmma.sum", value},
            {"sm__inst_executed_pipe_tensor_op_gmma.sum", 100 - value}};
  }
  return {{std::string(row.name), value}};
}

TEST(KernelCounters, every_row_gives_its_sentence_on_a_planted_kernel_and_its_reason_only_beyond_the_limit) {
  std::set<std::string_view> names;
  for (const MetricRow& row : metric_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.phrase.empty()) << row.name;
    EXPECT_FALSE(row.source.empty()) << row.name;
    EXPECT_EQ(row.because.empty(), row.side == Side::none) << row.name;
    EXPECT_EQ(row.suggests.empty(), row.side == Side::none) << row.name;
    for (const bool beyond : {false, true}) {
      const double value = row.side == Side::low ? row.limit * (beyond ? 0.5 : 1.1) : row.limit * (beyond ? 1.1 : 0.9);
      const auto readings = read_counters(planted(row, value));
      const auto reading = std::find_if(readings.begin(), readings.end(),
                                        [&](const CounterReading& one) { return one.row->name == row.name; });
      ASSERT_NE(reading, readings.end()) << row.name;
      EXPECT_EQ(reading->sentence.rfind(row.phrase, 0), 0U);
      EXPECT_NEAR(reading->value, value, 1e-9) << row.name;
      EXPECT_EQ(reading->is_reason, row.side != Side::none && beyond) << row.name << " " << value;
      const auto why = reasons(readings, "kernel");
      const bool named =
          std::any_of(why.begin(), why.end(), [&](const CounterReading* one) { return one->row->name == row.name; });
      EXPECT_EQ(named, reading->is_reason) << row.name;
    }
  }
}

TEST(KernelCounters, every_text_of_the_table_has_its_chinese) {
  for (const MetricRow& row : metric_rows()) {
    for (const std::string_view text : {row.phrase, row.because, row.suggests}) {
      if (text.empty()) continue;
      const bool known = std::any_of(sentences().begin(), sentences().end(),
                                     [&](const Sentence& one) { return one.english == text && !one.chinese.empty(); });
      EXPECT_TRUE(known) << text;
    }
  }
}

std::string_view first_reason(const std::map<std::string, double>& values, std::string_view kernel = "kernel") {
  const auto readings = read_counters(values);
  const auto why = reasons(readings, kernel);
  return why.empty() ? std::string_view("none") : why.front()->row->name;
}

TEST(KernelCounters, what_wastes_a_unit_comes_before_a_full_unit_and_that_before_what_warps_wait_for) {
  const std::string waits = "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio";
  const std::string barrier = "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio";
  const std::string issue = "smsp__issue_active.avg.pct_of_peak_sustained_active";
  EXPECT_EQ(first_reason({{kDram, 85}, {kScattered, 16}, {waits, 9}}), kScattered);
  EXPECT_EQ(first_reason({{kDram, 85}, {kScattered, 4}, {waits, 9}}), kDram);
  EXPECT_EQ(first_reason({{kDram, 20}, {waits, 3}, {barrier, 5}}), barrier) << "only the largest reason for waiting";
  EXPECT_EQ(first_reason({{issue, 75}, {waits, 3}}), "none") << "the schedulers find work: waiting costs nothing";
  EXPECT_EQ(first_reason({{kOccupancy, 12}}), kOccupancy);
  EXPECT_EQ(first_reason({{kOccupancy, 12}, {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", 90}}),
            "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active")
      << "matrix kernels are built for low occupancy";
  EXPECT_EQ(first_reason({{kOccupancy, 12}}, "nvjet_sm90_tst_256x128_64x4"), "none")
      << "whether or not it was measured";
  EXPECT_EQ(first_reason({}), "none");
  EXPECT_EQ(first_reason({{kDram, std::nan("")}}), "none");
}

TEST(KernelCounters, both_forms_of_the_table_are_read_and_the_text_around_them_is_not) {
  const std::string lines =
      "epoch 1, loss 0.3\n==PROF== Connected to process 7\n"
      "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"CC\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
      "\"0\",\"void at::<unnamed>::f<float, 4>(int)\",\"(256, 1, 1)\",\"(132, 1, "
      "1)\",\"9.0\",\"gpu__time_duration.sum\",\"us\",\"1,5\"\n"
      "\"0\",\"void at::<unnamed>::f<float, 4>(int)\",\"(256, 1, 1)\",\"(132, 1, "
      "1)\",\"9.0\",\"dram__bytes_read.sum\",\"Mbyte\",\"2.5\"\n"
      "loss, went, up\n"
      "\"1\",\"void at::<unnamed>::f<float, 4>(int)\",\"(256, 1, 1)\",\"(132, 1, "
      "1)\",\"9.0\",\"gpu__time_duration.sum\",\"ns\",\"81,856\"\n";
  const auto table = read_counter_table(lines, "x");
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->size(), 1U);
  EXPECT_EQ(table->front().launches, 2U);
  EXPECT_EQ(table->front().grid, "132x1x1");
  EXPECT_DOUBLE_EQ(table->front().metrics.at("gpu__time_duration.sum").value, (1500 + 81856) / 2.0);
  EXPECT_DOUBLE_EQ(table->front().metrics.at("dram__bytes_read.sum").value, 2.5e6);
  const auto wide = read_counter_table(
      "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid "
      "Size\",\"gpu__time_duration.sum\",\"lts__t_sector_hit_rate.pct\"\r\n"
      "\"\",\"\",\"\",\"\",\"msecond\",\"%\"\r\n"
      "\"0\",\"gemm\",\"(128, 1, 1)\",\"(8, 1, 1)\",\"2\",\"73.5\"\r\n",
      "x");
  ASSERT_TRUE(wide.ok());
  ASSERT_EQ(wide->size(), 1U);
  EXPECT_DOUBLE_EQ(wide->front().metrics.at("gpu__time_duration.sum").value, 2e6);
  EXPECT_DOUBLE_EQ(wide->front().metrics.at("lts__t_sector_hit_rate.pct").value, 73.5);
  EXPECT_FALSE(read_counter_table("no table\n", "x").ok());
  EXPECT_FALSE(read_counter_table("", "x").ok());
}

TEST(KernelCounters, names_of_different_tools_meet_and_what_is_ambiguous_does_not) {
  std::vector<KernelCounters> all(3);
  all[0].short_name = "at::vectorized_layer_norm_kernel<float, float>";
  all[0].grid = "8192x1x1";
  all[1].short_name = "gemm";
  all[1].grid = "1x1x1";
  all[2].short_name = "gemm";
  all[2].grid = "2x1x1";
  const CounterIndex index(all);
  EXPECT_EQ(index.find("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, false>(int)",
                       "8192x1x1", ""),
            &all[0]);
  EXPECT_EQ(index.find("gemm", "2x1x1", ""), &all[2]);
  EXPECT_EQ(index.find("gemm", "", ""), nullptr);
  EXPECT_EQ(index.find("gemm", "3x1x1", ""), nullptr);
  EXPECT_EQ(index.find("other", "", ""), nullptr);
  std::vector<KernelCounters> sums(1);
  sums[0].short_name = "vectorized_elementwise_kernel (add)";
  const CounterIndex made(sums);
  EXPECT_EQ(made.find("vectorized_elementwise_kernel (add)", "", ""), &sums[0]);
  EXPECT_EQ(
      made.find("void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor<float>, T>(int)", "", ""),
      nullptr)
      << "the same function made for something else";
}

TEST(KernelCounters, the_truth_of_known_kernels_of_an_h200_reads_as_it_was_measured) {
  const std::string path = std::string(ACCEL_SOURCE_DIR) + "/../shared/traces/h200/variety/ncu_truth.csv";
  std::ifstream in(path);
  if (!in) GTEST_SKIP() << "no ../shared";
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto table = read_counter_table(text, path);
  ASSERT_TRUE(table.ok());
  std::uint64_t launches = 0;
  for (const KernelCounters& one : *table) launches += one.launches;
  EXPECT_EQ(launches, 16U);
  const CounterIndex index(*table);
  const KernelCounters* copy = index.find(
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctorOnSelf_add<float>, T>(int, T)",
      "32768x1x1", "128x1x1");
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copy->metrics.at(kDram).value, 80.47);
  EXPECT_EQ(first_reason(copy->values()), kDram);
  const KernelCounters* norm = index.find(
      "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)", "8192x1x1", "");
  ASSERT_NE(norm, nullptr);
  EXPECT_EQ(norm->metrics.at("lts__t_sector_hit_rate.pct").value, 50.62);
  EXPECT_EQ(first_reason(norm->values()), kDram);
  const KernelCounters* product = index.find("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT", "2x66x1", "384x1x1");
  ASSERT_NE(product, nullptr);
  EXPECT_EQ(product->launches, 3U);
  EXPECT_EQ(first_reason(product->values(), product->short_name), "none") << "it is near the device's peak";
  EXPECT_NEAR(product->metrics.at("gpu__time_duration.sum").value, (347040 + 347584 + 347232) / 3.0, 0.01);
}

TEST(KernelCounters, join_the_diagnosis_of_the_kernels_that_they_were_measured_on) {
  test::SyntheticJob job;
  job.on_h200();
  for (int step = 0; step < 5; ++step) {
    job.begin_step();
    job.launch_shaped({"aten::mul", "[[4096, 4096], []]", R"(["float", "Scalar"])", "scattered_kernel", 10, 900});
    job.launch_shaped({"aten::add", "[[64, 64], []]", R"(["float", "Scalar"])", "tiny_kernel", 10, 3});
    job.wait("aten::item");
    job.end_step();
  }
  auto outcome = job.diagnose();
  std::vector<KernelCounters> counters(2);
  counters[0].short_name = "scattered_kernel";
  counters[0].grid = "2112x1x1";
  counters[0].metrics[kScattered] = {31.5, ""};
  counters[0].metrics[kOccupancy] = {80, "%"};
  counters[1].short_name = "tiny_kernel";
  const CounterMatch match = add_counter_reasons(outcome.diagnosis, outcome.store, outcome.results, counters);
  EXPECT_EQ(match.kernels, 1U);
  EXPECT_EQ(match.matched, 1U);
  const Finding* finding = outcome.find("kernel_limits");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title.rfind("Why scattered_kernel is not faster: Loads are scattered", 0), 0U) << finding->title;
  EXPECT_EQ(finding->severity, FindingSeverity::info);
  EXPECT_EQ(finding->evidence[0].value, 0.9);
  EXPECT_EQ(finding->evidence[2].value, 31.5);
  EXPECT_NE(chinese_sentence(finding->title).value_or(finding->title), finding->title);
}

}  // namespace
}  // namespace accel
