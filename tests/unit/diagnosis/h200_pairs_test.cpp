// Real captures of one H200 with a planted fault and without it. The bundled ones always run; the others are read from
// the shared folder beside the checkout and skipped where it is absent.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "diagnosis/diagnosis.h"
#include "ingest/importer.h"

namespace accel {
namespace {

struct Expected {
  std::string capture;
  BoundBy bound_by;                     // unknown: not checked, the truth (31 % idle) lies between two verdicts
  std::vector<std::string> above_info;  // in this order
  bool may_have_more = false;           // faults whose own rule is still to come
  double cost_ms = 0;  // of the first finding, recomputed from the trace in another way; 0 = not checked
};

// Costs: idle device time inside DataLoader __next__ (1359.4, 83.2 recorded), under cudaMalloc and cudaFree (3.43),
// time of the copies without kernels (102.8 and 0.5 of idle; 14.6), unprofiled step less device time (15.8 for
// launch_bound).
const std::vector<Expected> kExpected = {
    {"starved_images.before", BoundBy::data_loading, {"dataloader_starvation"}, true, 1359.4},
    {"starved_images.after", BoundBy::host, {"launch_bound"}, false, 0},
    {"starved_sleep.before", BoundBy::data_loading, {"dataloader_starvation"}, true, 83.2},
    {"starved_sleep.after", BoundBy::host, {"launch_bound"}, false, 0},
    {"item_sync.before", BoundBy::host, {"launch_bound", "implicit_sync"}, false, 0},
    {"item_sync.after", BoundBy::host, {"launch_bound"}, false, 0},
    {"launch_bound.before", BoundBy::host, {"launch_bound"}, false, 0},
    {"launch_bound.after", BoundBy::gpu_compute, {}, false, 0},
    {"mem_churn.before", BoundBy::unknown, {"allocator_churn"}, false, 3.43},
    {"mem_churn.after", BoundBy::gpu_compute, {}, false, 0},
    {"pageable_h2d.before", BoundBy::data_loading, {"host_to_device_copy", "layout_copies"}, false, 103.2},
    {"pageable_h2d.after", BoundBy::data_loading, {"host_to_device_copy", "layout_copies"}, false, 14.6},
    {"healthy_lm.after", BoundBy::gpu_compute, {}, false, 0},
    {"healthy_compiled.after", BoundBy::gpu_compute, {}, false, 0},
    {"fp32_matmul.before", BoundBy::gpu_compute, {"fp32_matmul"}, false, 0},
    {"fp32_matmul.after", BoundBy::gpu_compute, {}, false, 0},
    {"naive_attention.before", BoundBy::gpu_compute, {"unfused_attention"}, false, 0},
    {"naive_attention.after", BoundBy::gpu_compute, {}, false, 0},
    {"misaligned_gemm.before", BoundBy::gpu_compute, {"misaligned_gemm"}, false, 0},
    {"misaligned_gemm.after", BoundBy::gpu_compute, {}, false, 0},
    {"conv_no_benchmark.before", BoundBy::gpu_compute, {"layout_copies"}, false, 0},
    {"conv_no_benchmark.after", BoundBy::host, {"launch_bound"}, false, 0},
    {"fragmented.before", BoundBy::host, {"unfused_optimizer", "fragmented_kernels"}, true, 0},
    {"cpu_layernorm.before", BoundBy::host, {"cpu_fallback"}, true, 0},
    {"fragmented.after", BoundBy::host, {"launch_bound"}, false, 0},
    {"cpu_layernorm.after", BoundBy::host, {"launch_bound"}, false, 0},
    {"python_heavy.before", BoundBy::host, {"python_overhead"}, true, 0},
    {"python_heavy.after", BoundBy::host, {"launch_bound"}, false, 0},
    // Launching may be named: it holds the other steps back, and the step after the fix is bound by it.
    {"periodic_sync.before", BoundBy::host, {"step_outlier"}, true, 0},
    {"periodic_sync.after", BoundBy::host, {"launch_bound"}, false, 0},
    // Jobs of a second host (tests/device/record_captures.py).
    {"copy_back", BoundBy::host, {"device_to_host_copy"}, true, 36.1},
    {"pageable_copy", BoundBy::mixed, {"host_to_device_copy", "layout_copies"}, false, 21.1},
    {"loader_in_process", BoundBy::data_loading, {"dataloader_starvation"}, true, 0},
    {"inference", BoundBy::host, {"launch_bound"}, false, 0},
    {"graph_healthy", BoundBy::gpu_compute, {}, false, 0},
    {"healthy_conv", BoundBy::gpu_compute, {}, false, 0},
};

std::string path_of(const std::string& capture) {
  const std::filesystem::path root = ACCEL_SOURCE_DIR;
  for (const std::filesystem::path& folder :
       {root / "tests/golden/pytorch-2.11_h200", root / "tests/golden/pytorch-2.11_h200/jobs",
        root / "../shared/traces/h200/pairs"}) {
    const std::filesystem::path file = folder / (capture + ".json.gz");
    if (std::filesystem::exists(file)) return file.string();
  }
  return {};
}

Diagnosis diagnose_file(const std::string& path) {
  const Result<TraceStore> store = import_trace(path, {});
  EXPECT_TRUE(store.ok());
  if (!store.ok()) return {};
  const Result<AnalysisResults> results = run_analyses(*store, {});
  EXPECT_TRUE(results.ok());
  return diagnose(*store, *results, {});
}

void PrintTo(const Expected& expected, std::ostream* out) { *out << expected.capture; }

class H200Pairs : public testing::TestWithParam<Expected> {};

TEST_P(H200Pairs, HasTheFindingsThatItsTruthSupports) {
  const Expected& expected = GetParam();
  const std::string path = path_of(expected.capture);
  if (path.empty()) GTEST_SKIP() << expected.capture << " is not here";
  const Diagnosis diagnosis = diagnose_file(path);
  if (expected.bound_by != BoundBy::unknown) {
    EXPECT_EQ(to_string(diagnosis.verdict.bound_by), to_string(expected.bound_by)) << diagnosis.verdict.sentence;
  }
  std::vector<std::string> above_info;
  for (const Finding& finding : diagnosis.findings) {
    if (finding.severity != FindingSeverity::info) above_info.push_back(finding.rule);
  }
  if (expected.may_have_more && above_info.size() > expected.above_info.size())
    above_info.resize(expected.above_info.size());
  EXPECT_EQ(above_info, expected.above_info) << diagnosis.verdict.sentence;
  if (expected.cost_ms > 0 && !diagnosis.findings.empty()) {
    EXPECT_NEAR(diagnosis.findings.front().cost_ms_per_step, expected.cost_ms, 0.1 * expected.cost_ms);
  }
}

INSTANTIATE_TEST_SUITE_P(Captures, H200Pairs, testing::ValuesIn(kExpected), [](const auto& test) {
  std::string name = test.param.capture;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

// Steps of the jobs with another kernel, measured without a profiler.
TEST(H200Gains, ReplacedKernelsTakeWhatTheJobWithoutTheFaultTook) {
  const std::pair<const char*, double> truths[] = {
      {"fp32_matmul.before", 11.0}, {"misaligned_gemm.before", 2.54}, {"naive_attention.before", 15.4}};
  for (const auto& [capture, after_ms] : truths) {
    const std::string path = path_of(capture);
    if (path.empty()) GTEST_SKIP() << capture << " is not here";
    const Diagnosis diagnosis = diagnose_file(path);
    ASSERT_FALSE(diagnosis.findings.empty()) << capture;
    const Gain& gain = diagnosis.findings.front().gain;
    ASSERT_TRUE(gain.step_low_ms && gain.step_high_ms) << capture;
    EXPECT_LE(*gain.step_low_ms, after_ms) << capture;
    EXPECT_GE(*gain.step_high_ms, after_ms) << capture;
    EXPECT_LE(*gain.step_high_ms, 3 * *gain.step_low_ms) << capture;
  }
}

// Taking work off the device shortens no step that the host holds up.
TEST(H200Gains, NoStepIsPromisedForConvolutionsAndLayoutWhereTheHostMaySetThePace) {
  const std::string path = path_of("conv_no_benchmark.before");
  if (path.empty()) GTEST_SKIP() << "conv_no_benchmark.before is not here";
  for (const Finding& finding : diagnose_file(path).findings)
    EXPECT_FALSE(finding.gain.step_ms.has_value()) << finding.rule;
}

TEST(H200Plan, WaitsGoBeforeTheGraphThatTheyAreInTheWayOf) {
  const std::string path = path_of("item_sync.before");
  if (path.empty()) GTEST_SKIP() << "item_sync.before is not here";
  const Diagnosis diagnosis = diagnose_file(path);
  ASSERT_GE(diagnosis.plan.size(), 2U);
  EXPECT_EQ(diagnosis.plan[0].rule, "implicit_sync");
  EXPECT_EQ(diagnosis.plan[1].rule, "launch_bound");
}

TEST(H200Health, IdleThatTheRecordingMadeIsNotUnhealthy) {
  const std::string path = path_of("fp32_matmul.after");
  if (path.empty()) GTEST_SKIP() << "fp32_matmul.after is not here";
  for (const HealthMeasure& measure : diagnose_file(path).health) EXPECT_TRUE(measure.ok) << measure.measure;
}

TEST(H200Verdict, PythonInOnePlaceIsNamed) {
  const std::string path = path_of("python_heavy.before");
  if (path.empty()) GTEST_SKIP() << "python_heavy.before is not here";
  EXPECT_NE(diagnose_file(path).verdict.sentence.find("record.py(180): extra"), std::string::npos);
}

}  // namespace
}  // namespace accel
