#include "analysis/call_tree/call_tree.h"

#include "analysis/python_frame.h"
#include "analysis/step_segmentation.h"
#include "unit/analysis/small_trace.h"

namespace accel {
namespace {

// "thread;op;call" and so on, without the root.
std::string path_of(const CallTree& tree, std::uint32_t node) {
  std::string path;
  for (; node != 0; node = tree.nodes[node].parent) {
    path = tree.names[tree.nodes[node].name] + (path.empty() ? "" : ";" + path);
  }
  return path;
}

const CallNode* find(const CallTree& tree, std::string_view path) {
  for (std::uint32_t i = 0; i < tree.nodes.size(); ++i) {
    if (path_of(tree, i) == path) return &tree.nodes[i];
  }
  return nullptr;
}

TEST(CallTree, EqualPathsAreOneNodeAndSelfIsTotalLessChildren) {
  SmallTrace trace;
  for (int step = 0; step < 3; ++step) {
    const int at = step * 100;
    trace.step(step, at, 100).range("forward", at + 10, 60).op("aten::mm", at + 20, 30);
    trace.launched("gemm", at + 25, at + 40, 20, step + 1);
  }
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const CallTree& tree = *results.call_tree;
  EXPECT_EQ(tree.steps, 3U);
  const CallNode* range = find(tree, "thread 1;forward");
  ASSERT_NE(range, nullptr);
  EXPECT_EQ(range->count, 3U);
  EXPECT_EQ(range->host_total_ns, 180'000);
  EXPECT_EQ(range->host_self_ns, 90'000);
  EXPECT_EQ(range->device_total_ns, 60'000);
  EXPECT_EQ(range->device_self_ns, 0);
  const CallNode* call = find(tree, "thread 1;forward;aten::mm;cudaLaunchKernel");
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->kind, CallKind::call);
  EXPECT_EQ(call->host_self_ns, 15'000);
  const CallNode* kernel = find(tree, "thread 1;forward;aten::mm;cudaLaunchKernel;gemm");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->kind, CallKind::kernel);
  EXPECT_EQ(kernel->device_self_ns, 60'000);
  EXPECT_EQ(kernel->host_total_ns, 0);
  const CallNode* thread = find(tree, "thread 1");
  EXPECT_EQ(thread->host_total_ns, 300'000);
  EXPECT_EQ(thread->host_self_ns, 120'000);
  EXPECT_EQ(tree.nodes[0].device_total_ns, 60'000);
}

TEST(CallTree, SelfTimesAddUpToTheTotalOfTheRoot) {
  SmallTrace trace;
  trace.frame("train.py(1): main", 0, 1000);
  for (int step = 0; step < 4; ++step) {
    const int at = 50 + step * 100;
    trace.step(step, at, 90).op("a", at + 1, 50).op("b", at + 2, 10).op("c", at + 60, 80);
    trace.op("backward", at + 5, 30, 2);
  }
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const CallTree& tree = *results.call_tree;
  std::int64_t self = 0;
  for (const CallNode& node : tree.nodes) self += node.host_self_ns;
  EXPECT_EQ(self, tree.nodes[0].host_total_ns);
  for (const CallNode& node : tree.nodes) EXPECT_GE(node.host_self_ns, 0);
  // A range around the steps has their time alone.
  const CallNode* main = find(tree, "thread 1;train.py(1): main");
  ASSERT_NE(main, nullptr);
  EXPECT_EQ(main->host_total_ns, 90'000 * results.step_segmentation->complete_count);
  EXPECT_EQ(main->count, 0U);
}

TEST(CallTree, WhatRunsBetweenStepsIsLeftOutAndDoesNotLoseTheAncestors) {
  SmallTrace trace;
  trace.frame("train.py(1): main", 0, 1000).step(0, 100, 100).op("a", 110, 10);
  trace.op("between", 250, 20).op("inner", 255, 5).step(1, 300, 100).op("a", 310, 10);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const CallTree& tree = *results.call_tree;
  const CallNode* op = find(tree, "thread 1;train.py(1): main;a");
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(op->count, 2U);
  EXPECT_EQ(find(tree, "thread 1;train.py(1): main;between"), nullptr);
}

TEST(CallTree, ARangeThatAFrameEntersHoldsWhatFollowsAndTimeIsCountedOnce) {
  SmallTrace trace;
  trace.frame("train.py(1): main", 0, 1000)
      .frame("torch/profiler.py(2): step", 90, 30)
      .frame("torch/profiler.py(3): __enter__", 95, 20)
      .range("ProfilerStep#0", 100, 200)
      .frame("torch/record.py(1): __enter__", 140, 10)
      .range("forward", 145, 100)
      .op("a", 150, 50)
      .launched("k", 160, 170, 10, 1);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const CallTree& tree = *results.call_tree;
  const CallNode* op = find(tree, "thread 1;train.py(1): main;forward;a");
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(op->host_total_ns, 50'000);
  EXPECT_EQ(op->device_total_ns, 10'000);
  EXPECT_EQ(find(tree, "thread 1;train.py(1): main;forward")->host_total_ns, 100'000);
  EXPECT_EQ(find(tree, "thread 1;train.py(1): main;torch/record.py(1): __enter__")->host_total_ns, 5'000);
  EXPECT_EQ(find(tree, "thread 1;train.py(1): main")->host_total_ns, 200'000);
  EXPECT_EQ(find(tree, "thread 1;train.py(1): main")->host_self_ns, 200'000 - 100'000 - 5'000);
  std::int64_t self = 0;
  for (const CallNode& node : tree.nodes) {
    EXPECT_GE(node.host_self_ns, 0) << tree.names[node.name];
    self += node.host_self_ns;
  }
  EXPECT_EQ(self, tree.nodes[0].host_total_ns);
}

TEST(CallTree, DeviceWorkOfOtherStepsIsCountedApart) {
  SmallTrace trace;
  trace.step(0, 0, 100).launched("k", 10, 20, 30, 1).launched("late", 500, 520, 40, 2);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const CallTree& tree = *results.call_tree;
  EXPECT_EQ(tree.nodes[0].device_total_ns, 30'000);
  EXPECT_EQ(tree.device_other_ns, 40'000);
}

TEST(CallTree, BoundedNodesKeepTheHeaviestAndSumTheRest) {
  SmallTrace trace;
  trace.step(0, 0, 200'000);
  const int count = static_cast<int>(kCallTreeNodes) + 500;
  for (int i = 0; i < count; ++i) trace.op("op" + std::to_string(i), i * 20, i % 100 == 0 ? 15 : 2);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const CallTree& tree = *results.call_tree;
  EXPECT_EQ(tree.nodes.size(), kCallTreeNodes + 1);
  EXPECT_EQ(tree.nodes_summed, 502U);
  EXPECT_NE(find(tree, "thread 1;op6400"), nullptr);
  const CallNode* rest = find(tree, "thread 1;other");
  ASSERT_NE(rest, nullptr);
  EXPECT_EQ(rest->kind, CallKind::rest);
  EXPECT_EQ(rest->count, 502U);
  EXPECT_EQ(rest->host_total_ns, 502 * 2'000);
}

TEST(CallTree, FramesOfLibrariesAreMarkedAndObjectsMerged) {
  SmallTrace trace;
  trace.step(0, 0, 100)
      .frame("train.py(3): step", 0, 90)
      .frame("torch/nn/modules/module.py(9): _call_impl", 1, 80)
      .frame("nn.Module: Linear_0", 2, 70)
      .frame("<built-in method add_ of Tensor object at 0x7f01>", 3, 10)
      .frame("<built-in method add_ of Tensor object at 0x7f02>", 20, 10);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const CallTree& tree = *results.call_tree;
  const std::string module = "thread 1;train.py(3): step;torch/nn/modules/module.py(9): _call_impl;nn.Module: Linear_0";
  ASSERT_NE(find(tree, module), nullptr);
  EXPECT_EQ(find(tree, module)->kind, CallKind::module);
  EXPECT_EQ(find(tree, module)->flags & kNodeFolded, 0);
  EXPECT_EQ(find(tree, "thread 1;train.py(3): step")->flags & kNodeFolded, 0);
  const CallNode* builtin = find(tree, module + ";<built-in method add_ of Tensor object>");
  ASSERT_NE(builtin, nullptr);
  EXPECT_EQ(builtin->count, 2U);
  EXPECT_EQ(builtin->flags & kNodeFolded, kNodeFolded);
}

TEST(CallTree, WithoutACompleteStepItIsEmpty) {
  const TraceStore store = SmallTrace().store();
  EXPECT_TRUE(analyse(store).call_tree->nodes.empty());
}

TEST(FrameName, TellsLibrariesFromTheUsersCode) {
  EXPECT_TRUE(is_library_frame("torch/optim/adam.py(903): adam"));
  EXPECT_TRUE(is_library_frame("/opt/venv/lib/python3.12/site-packages/foo/a.py(1): f"));
  EXPECT_TRUE(is_library_frame("<frozen importlib._bootstrap>(1): _find_and_load"));
  EXPECT_FALSE(is_library_frame("train.py(12): main"));
  EXPECT_FALSE(is_library_frame("/home/me/model/torch_utils.py(12): forward"));
  EXPECT_EQ(frame_without_address("<built-in method x of T object at 0x7f> "), "<built-in method x of T object> ");
}

}  // namespace
}  // namespace accel
