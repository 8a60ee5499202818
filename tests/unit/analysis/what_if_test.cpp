#include "analysis/what_if/what_if.h"

#include <algorithm>
#include <filesystem>

#include "analysis/step_segmentation.h"
#include "ingest/importer.h"
#include "unit/analysis/small_trace.h"

namespace accel {
namespace {

// Three steps; times in microseconds. What a question makes of them.
Prediction ask(SmallTrace& trace, std::string_view question) {
  const TraceStore store = trace.store();
  AnalysisOptions options;
  auto parsed = parse_transformations(question);
  EXPECT_TRUE(parsed.ok());
  options.what_if.push_back(*parsed);
  const AnalysisResults results = analyse(store, options);
  EXPECT_TRUE(results.what_if->usable);
  EXPECT_EQ(results.what_if->answers.size(), 1U);
  return results.what_if->answers.front().prediction;
}

template <typename Fn>
SmallTrace three_steps(int step_us, Fn&& fill) {
  SmallTrace trace;
  for (int k = 0; k < 3; ++k) {
    trace.step(k, step_us * k, step_us);
    fill(trace, step_us * k, k);
  }
  return trace;
}

TEST(WhatIf, NoSyncLetsTheHostRunAhead) {
  // 300 us of host, then a wait for a kernel of 600 us.
  SmallTrace trace = three_steps(1'000, [](SmallTrace& t, int at, int k) {
    t.launched("gemm", at + 290, at + 300, 600, k + 1).call("cudaStreamSynchronize", at + 300, 610);
  });
  const Prediction without = ask(trace, "no_sync");
  EXPECT_NEAR(without.step_ns, 601e3, 12e3);  // the device's own time
  EXPECT_LE(without.low_ns, without.step_ns);
  EXPECT_GE(without.high_ns, without.step_ns);
}

TEST(WhatIf, DataThatIsReadyTakesNoTime) {
  SmallTrace trace = three_steps(1'000, [](SmallTrace& t, int at, int k) {
    t.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 700);
    t.op("aten::stack", at + 100, 500).launched("gemm", at + 800, at + 810, 100, k + 1);
  });
  EXPECT_NEAR(ask(trace, "data_ready").step_ns, 300e3, 1e3);
}

TEST(WhatIf, APinnedCopyBesideTheKernelsHoldsUpNothing) {
  SmallTrace trace = three_steps(1'000, [](SmallTrace& t, int at, int k) {
    t.call("cudaMemcpyAsync", at + 100, 605, 2 * k + 1);
    t.copy(CopyDirection::host_to_device, MemoryKind::pageable, MemoryKind::device, at + 110, 590, 2 * k + 1,
           4'800'000);
    t.launched("gemm", at + 800, at + 810, 100, 2 * k + 2);
  });
  // 395 us of host remain; the copy takes 200 us at 24 bytes a ns.
  EXPECT_NEAR(ask(trace, "pin_overlap").step_ns, 405e3, 6e3);
}

TEST(WhatIf, AGraphLeavesTheDevicesTime) {
  SmallTrace trace = three_steps(1'000, [](SmallTrace& t, int at, int k) {
    for (int i = 0; i < 5; ++i) {
      t.op("aten::mm", at + 190 * i, 150).launched("gemm", at + 190 * i + 100, at + 190 * i + 110, 60, 5 * k + i + 1);
    }
  });
  EXPECT_NEAR(ask(trace, "graph").step_ns, 5 * 61e3, 15e3);
}

TEST(WhatIf, AGraphDoesNotTakeAwayWhatIsNoLaunching) {
  SmallTrace trace = three_steps(1'000, [](SmallTrace& t, int at, int k) {
    t.op("aten::mm", at, 150).launched("gemm", at + 100, at + 110, 60, k + 1);  // then 850 us of Python
  });
  EXPECT_NEAR(ask(trace, "graph").step_ns, 850e3, 25e3);
}

TEST(WhatIf, FusedElementwiseKernelsTakeTheTimeOfTheLongest) {
  SmallTrace trace = three_steps(400, [](SmallTrace& t, int at, int k) {
    t.launched("vectorized_elementwise_kernel<add>", at + 10, 20 + 901 * k, 300, 4 * k + 1);
    t.launched("vectorized_elementwise_kernel<mul>", at + 20, 20 + 901 * k + 300, 200, 4 * k + 2);
    t.launched("elementwise_kernel<copy>", at + 30, 20 + 901 * k + 500, 100, 4 * k + 3);
    t.launched("gemm", at + 40, 20 + 901 * k + 600, 300, 4 * k + 4);
  });
  EXPECT_NEAR(ask(trace, "fuse").step_ns, 600e3, 15e3);
}

TEST(WhatIf, WithoutTheAllocatorItsCallsTakeNoTime) {
  SmallTrace trace = three_steps(1'000, [](SmallTrace& t, int at, int k) {
    t.call("cudaMalloc", at + 100, 400).launched("gemm", at + 600, at + 610, 100, k + 1);
  });
  EXPECT_NEAR(ask(trace, "no_alloc").step_ns, 600e3, 1e3);
}

TEST(WhatIf, HostTimeOfAPatternGoesAwayWithAllThatItEncloses) {
  SmallTrace trace = three_steps(1'000, [](SmallTrace& t, int at, int k) {
    t.range("collate", at + 100, 400).op("aten::stack", at + 200, 200);
    t.launched("gemm", at + 600, at + 610, 100, k + 1);
  });
  EXPECT_NEAR(ask(trace, "no_host(collate)").step_ns, 600e3, 1e3);
}

TEST(WhatIf, CommunicationBesideComputeIsNoLongerWaitedFor) {
  SmallTrace trace = three_steps(100, [](SmallTrace& t, int at, int k) {
    t.launched("gemm", at + 10, 20 + 801 * k, 500, 2 * k + 1);
    t.launched("ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + 20, 20 + 801 * k + 500, 300, 2 * k + 2);
  });
  EXPECT_NEAR(ask(trace, "overlap_comm").step_ns, 500e3, 10e3);
}

TEST(WhatIf, AmdahlsQuestionIsAnsweredForHostAndDevice) {
  const auto job = [] {
    return three_steps(100, [](SmallTrace& t, int at, int k) {
      t.launched("attention_kernel", at + 10, 20 + 1'000 * k, 400, 2 * k + 1);
      t.launched("gemm", at + 20, 420 + 1'000 * k, 600, 2 * k + 2);
    });
  };
  SmallTrace once = job();
  EXPECT_NEAR(ask(once, "scale(attention, 0.5)").step_ns, 800e3, 10e3);
  SmallTrace twice = job();
  EXPECT_NEAR(ask(twice, "scale(attention, 0.5);scale(gemm, 0.5)").step_ns, 500e3, 10e3);
  SmallTrace longer = job();
  EXPECT_NEAR(ask(longer, "scale(attention, 2)").step_ns, 1'400e3, 10e3);
}

TEST(WhatIf, ACheckpointRunsTheForwardTwice) {
  SmallTrace trace = three_steps(100, [](SmallTrace& t, int at, int k) {
    t.range("layer", at + 5, 20).launched("gemm", at + 10, 20 + 1'000 * k, 400, 2 * k + 1);
    t.launched("loss", at + 30, 420 + 1'000 * k, 600, 2 * k + 2);
  });
  EXPECT_NEAR(ask(trace, "checkpoint(layer)").step_ns, 1'400e3, 10e3);
}

TEST(CriticalPath, NamesEachStretchAndAddsUpToTheStep) {
  SmallTrace trace = three_steps(1'000, [](SmallTrace& t, int at, int k) {
    t.op("aten::mm", at + 100, 195).launched("gemm", at + 285, at + 300, 600, k + 1);
    t.call("cudaStreamSynchronize", at + 300, 610);
  });
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const CriticalPath& path = results.what_if->path;
  double kernel = 0, host = 0, sync = 0, sum = 0;
  for (const PathPart& part : path.parts) {
    sum += part.ns_per_step;
    if (part.kind == PathKind::kernel) kernel += part.ns_per_step;
    if (part.kind == PathKind::host) host += part.ns_per_step;
    if (part.kind == PathKind::sync) sync += part.ns_per_step;
  }
  EXPECT_NEAR(sum, 1e6, 1);
  EXPECT_DOUBLE_EQ(kernel, 600e3);
  EXPECT_NEAR(host, 375e3, 1);  // before the launch, and 90 us after the wait
  EXPECT_NEAR(sync, 10e3, 1);
  EXPECT_EQ(path.unexplained_share, 0);
  EXPECT_LT(results.what_if->replay_error, 1e-6);
}

// Without this the replay could be exact and say nothing.
TEST(CriticalPath, AlmostNothingOfARecordedStepIsOfUnknownCause) {
  const std::filesystem::path shared = std::filesystem::path(ACCEL_SOURCE_DIR) / "../shared/traces/h200";
  if (!std::filesystem::exists(shared)) GTEST_SKIP() << "../shared is not here";
  constexpr double kMostUnexplained = 0.05;
  int checked = 0;
  for (const char* folder : {"pairs", "nccl2", "variety"}) {
    for (const auto& entry : std::filesystem::directory_iterator(shared / folder)) {
      const std::string name = entry.path().filename().string();
      if (!name.ends_with(".json.gz") || name.find("flight_recorder") != std::string::npos) continue;
      const Result<TraceStore> store = import_trace(entry.path().string(), {});
      ASSERT_TRUE(store.ok()) << name;
      const AnalysisResults results = analyse(*store);
      if (store->device_events.empty() || results.step_segmentation->complete_count < 2) continue;
      EXPECT_LE(results.what_if->unexplained_share, kMostUnexplained) << folder << "/" << name;
      double sum = 0;
      for (const PathPart& part : results.what_if->path.parts) sum += part.ns_per_step;
      EXPECT_NEAR(sum, results.what_if->path.total_ns, 1);
      ++checked;
    }
  }
  EXPECT_GE(checked, 40);
}

const SlackPart* slack_of(const TraceStore& store, const WhatIf& what_if, std::string_view name) {
  const auto at = std::find_if(what_if.slack.begin(), what_if.slack.end(),
                               [&](const SlackPart& part) { return store.text(part.name) == name; });
  return at == what_if.slack.end() ? nullptr : &*at;
}

TEST(WhatIf, AKernelHasTheSlackUntilSomebodyWaitsForIt) {
  SmallTrace trace = three_steps(1'000, [](SmallTrace& t, int at, int k) {
    t.launched("gemm", at + 200, at + 210, 50, k + 1).call("cudaStreamSynchronize", at + 500, 5);
  });
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const SlackPart* gemm = slack_of(store, *results.what_if, "gemm");
  ASSERT_NE(gemm, nullptr);
  EXPECT_EQ(gemm->kind, PathKind::kernel);
  EXPECT_DOUBLE_EQ(gemm->count_per_step, 1);
  EXPECT_DOUBLE_EQ(gemm->ns_per_step, 50e3);
  EXPECT_NEAR(gemm->least_ns, 240e3, 6e3);
}

TEST(WhatIf, AKernelThatNobodyWaitsForHasTheRoomOfItsStream) {
  SmallTrace trace =
      three_steps(1'000, [](SmallTrace& t, int at, int k) { t.launched("gemm", at + 200, at + 210, 50, k + 1); });
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const SlackPart* gemm = slack_of(store, *results.what_if, "gemm");
  ASSERT_NE(gemm, nullptr);
  EXPECT_NEAR(gemm->least_ns, 950e3, 1e3);
}

TEST(WhatIf, WhatSetsThePaceHasNoSlack) {
  SmallTrace trace;
  for (int k = 0; k < 4; ++k)
    trace.step(k, 1'000 * k, 1'000).launched("gemm", 1'000 * k + 10, 20 + 3'001 * k, 3'000, k + 1);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  EXPECT_EQ(slack_of(store, *results.what_if, "gemm"), nullptr);
}

}  // namespace
}  // namespace accel
