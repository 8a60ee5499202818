#include "analysis/scope_tables/scope_tables.h"

#include <algorithm>

#include "analysis/python_frame.h"
#include "small_trace.h"

namespace accel {
namespace {

constexpr int kAutograd = 2;

const ScopeRow* find(const std::vector<ScopeRow>& rows, std::string_view name) {
  const auto at = std::find_if(rows.begin(), rows.end(), [&](const ScopeRow& row) { return row.name == name; });
  return at == rows.end() ? nullptr : &*at;
}

TEST(ScopeTables, SelfIsWhatNoOtherModuleEnclosesMoreClosely) {
  SmallTrace trace;
  for (int step = 0; step < 2; ++step) {
    const std::int64_t at = step * 1000;
    trace.step(step, at, 1000);
    trace.frame("nn.Module: Net_0", at + 100, 500).frame("nn.Module: Linear_0", at + 200, 100);
    trace.op("aten::addmm", at + 210, 50);
    trace.launched("gemm", at + 220, at + 300, 70, 10 + step);
    trace.launched("relu", at + 400, at + 420, 30, 20 + step);  // in Net_0 alone
    trace.launched("loss", at + 700, at + 720, 5, 30 + step);   // in no module
  }
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const ScopeTables& tables = *results.scope_tables;
  EXPECT_EQ(tables.steps, 2U);
  ASSERT_EQ(tables.modules.size(), 2U);
  const ScopeRow& net = tables.modules[0];
  EXPECT_EQ(net.name, "nn.Module: Net_0");
  EXPECT_EQ(net.inside, -1);
  EXPECT_EQ(net.count, 2U);
  EXPECT_EQ(net.host_ns, 1'000'000);
  EXPECT_EQ(net.host_self_ns, 800'000);
  EXPECT_EQ(net.device_ns, 200'000);
  EXPECT_EQ(net.device_self_ns, 60'000);
  const ScopeRow& linear = tables.modules[1];
  EXPECT_EQ(linear.inside, 0);
  EXPECT_EQ(linear.device_ns, 140'000);
  EXPECT_EQ(linear.device_self_ns, 140'000);
  EXPECT_TRUE(tables.frames.empty());
}

TEST(ScopeTables, ARecursionCountsOnceInTotalsAndARangeThatCrossesAnotherKeepsItsTime) {
  SmallTrace trace;
  trace.step(0, 0, 1000).frame("a.py(1): f", 100, 400).frame("a.py(1): f", 200, 100);
  trace.range("one", 600, 200).range("two", 700, 200);  // overlap from 700 to 800
  trace.launched("k", 850, 860, 10, 1);
  trace.step(1, 1000, 10);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const ScopeTables& tables = *results.scope_tables;
  const ScopeRow* f = find(tables.frames, "a.py(1): f");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->count, 2U);
  EXPECT_EQ(f->host_ns, 400'000);
  EXPECT_EQ(f->host_self_ns, 400'000);
  EXPECT_EQ(f->inside, -1);
  EXPECT_EQ(find(tables.annotations, "one")->host_ns, 200'000);
  EXPECT_EQ(find(tables.annotations, "one")->host_self_ns, 100'000);
  EXPECT_EQ(find(tables.annotations, "two")->host_self_ns, 200'000);
  EXPECT_EQ(find(tables.annotations, "two")->device_self_ns, 10'000);
  EXPECT_EQ(find(tables.annotations, "one")->device_ns, 0);
}

TEST(ScopeTables, FramesOfLibrariesAreOwnTimeOfTheUsersFrameAndHaveRowsOfTheirOwn) {
  SmallTrace trace;
  trace.step(0, 0, 1000).frame("train.py(3): step", 100, 400).frame("torch/nn/functional.py(9): relu", 200, 100);
  trace.launched("k", 250, 260, 10, 1);
  trace.step(1, 1000, 10);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const ScopeTables& tables = *results.scope_tables;
  const ScopeRow* user = find(tables.frames, "train.py(3): step");
  const ScopeRow* library = find(tables.frames, "torch/nn/functional.py(9): relu");
  EXPECT_FALSE(user->library);
  EXPECT_TRUE(library->library);
  EXPECT_EQ(user->host_self_ns, 400'000);
  EXPECT_EQ(user->device_self_ns, 10'000);
  EXPECT_EQ(library->host_self_ns, 100'000);
  EXPECT_EQ(library->device_self_ns, 10'000);
  EXPECT_EQ(tables.frames[static_cast<std::size_t>(library->inside)].name, "train.py(3): step");
}

TEST(ScopeTables, WorkOfTheAutogradThreadBelongsToWhatTheMainThreadHasOpen) {
  SmallTrace trace;
  for (int step = 0; step < 2; ++step) {
    const std::int64_t at = step * 1000;
    trace.step(step, at, 1000).op("aten::mm", at + 10, 20).range("backward", at + 300, 400);
    trace.launched("first", at + 12, at + 15, 10, 10 + step);
    trace.op("autograd::engine::evaluate_function: MmBackward0", at + 320, 100, kAutograd);
    trace.call("cudaLaunchKernel", at + 330, 5, 20 + step, kAutograd).kernel("gemm", at + 340, 50, 20 + step);
    // A range of its own on that thread, once more around by the same name: the work counts once.
    trace.range("hook", at + 500, 50, kAutograd).range("backward", at + 505, 40, kAutograd);
    trace.op("autograd::engine::evaluate_function: AddBackward0", at + 510, 20, kAutograd);
    trace.call("cudaLaunchKernel", at + 511, 5, 30 + step, kAutograd).kernel("add", at + 530, 20, 30 + step);
  }
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const auto& rows = results.scope_tables->annotations;
  EXPECT_EQ(find(rows, "backward")->device_ns, 2 * 70'000);
  EXPECT_EQ(find(rows, "backward")->device_self_ns, 2 * 70'000);
  EXPECT_EQ(find(rows, "hook")->device_ns, 2 * 20'000);
  EXPECT_EQ(find(rows, "hook")->device_self_ns, 0);
  EXPECT_FALSE(results.scope_tables->backward_known);
}

TEST(ScopeTables, BackwardWorkBelongsToTheModuleThatMadeTheNode) {
  SmallTrace trace;
  for (int step = 0; step < 2; ++step) {
    const std::int64_t at = step * 1000;
    trace.step(step, at, 1000).frame("nn.Module: Linear_0", at + 10, 100);
    trace.node("aten::t", at + 20, 5, 7 + step, 0).node("aten::addmm", at + 40, 20, 7 + step, 0);
    trace.launched("gemm", at + 45, at + 50, 10, 10 + step);
    trace.node("autograd::engine::evaluate_function: AddmmBackward0", at + 300, 100, 7 + step, 1, kAutograd);
    trace.call("cudaLaunchKernel", at + 330, 5, 20 + step, kAutograd).kernel("gemm_b", at + 340, 50, 20 + step);
  }
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  EXPECT_TRUE(results.scope_tables->backward_known);
  const ScopeRow* linear = find(results.scope_tables->modules, "nn.Module: Linear_0");
  ASSERT_NE(linear, nullptr);
  EXPECT_EQ(linear->device_ns, 20'000);
  EXPECT_EQ(linear->backward_device_ns, 100'000);
  EXPECT_EQ(linear->backward_self_ns, 100'000);
}

TEST(ScopeTables, WorkAndTimeOutsideCompleteStepsDoNotCount) {
  SmallTrace trace;
  trace.range("setup", 0, 90).launched("k", 10, 20, 10, 1);
  trace.step(0, 100, 100).step(1, 200, 100);
  const TraceStore store = trace.store();
  EXPECT_EQ(find(analyse(store).scope_tables->annotations, "setup"), nullptr);
  const TraceStore empty = SmallTrace().store();
  EXPECT_TRUE(analyse(empty).scope_tables->annotations.empty());
}

TEST(PythonFrame, NotebooksAndScriptsNamedLikeSmallModulesAreTheUsers) {
  EXPECT_FALSE(is_library_frame("<ipython-input-3-abc>(2): f"));
  EXPECT_FALSE(is_library_frame("<stdin>(1): <module>"));
  EXPECT_FALSE(is_library_frame("profile.py(3): main"));
  EXPECT_FALSE(is_library_frame("code/model.py(3): forward"));
  EXPECT_TRUE(is_library_frame("<built-in method run_backward of object at 0x1>"));
  EXPECT_TRUE(is_library_frame("json/decoder.py(3): decode"));
  EXPECT_FALSE(is_library_frame("nn.Module: Linear_0"));
}

}  // namespace
}  // namespace accel
