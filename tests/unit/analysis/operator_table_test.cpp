#include "analysis/operator_table.h"

#include "unit/analysis/small_trace.h"

namespace accel {
namespace {

const OperatorRow* find(const TraceStore& store, const std::vector<OperatorRow>& rows, std::string_view name) {
  for (const OperatorRow& row : rows) {
    if (store.text(row.name) == name) return &row;
  }
  return nullptr;
}

TEST(OperatorTable, AKernelCountsOnceAtTheInnermostOpAndInTheTotalsAround) {
  SmallTrace trace;
  trace.op("aten::conv2d", 0, 100)
      .op("aten::convolution", 10, 80)
      .op("aten::_convolution", 20, 60)
      .call("cudaLaunchKernel", 30, 10, 1);
  trace.kernel("conv", 50, 40, 1);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const auto& rows = results.operator_table->by_name;
  std::int64_t self_device = 0;
  for (const OperatorRow& row : rows) self_device += row.self_device_ns;
  EXPECT_EQ(self_device, 40'000);
  EXPECT_EQ(find(store, rows, "aten::_convolution")->self_device_ns, 40'000);
  EXPECT_EQ(find(store, rows, "aten::conv2d")->device_ns, 40'000);
  EXPECT_EQ(find(store, rows, "aten::conv2d")->self_cpu_ns, 20'000);
  EXPECT_EQ(find(store, rows, "aten::_convolution")->self_cpu_ns, 50'000);  // the call is a node of its own
  EXPECT_EQ(rows[0].kind, SliceKind::op);
  EXPECT_EQ(store.text(rows[0].name), "aten::_convolution");
}

TEST(OperatorTable, AnOpWhoseOnlyChildBearsItsNameIsOneRow) {
  SmallTrace trace;
  trace.op("aten::add", 0, 100).op("aten::add", 10, 80).call("cudaLaunchKernel", 20, 10, 1).kernel("add", 50, 40, 1);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const OperatorRow* row = find(store, results.operator_table->by_name, "aten::add");
  EXPECT_EQ(row->count, 1U);
  EXPECT_EQ(row->self_cpu_ns, 90'000);
  EXPECT_EQ(row->self_device_ns, 40'000);
}

TEST(OperatorTable, StepsFoldIntoOneRow) {
  SmallTrace trace;
  trace.step(1, 0, 100).step(2, 100, 50);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const OperatorTable& table = *results.operator_table;
  ASSERT_EQ(table.by_name.size(), 1U);
  EXPECT_EQ(table.by_name[0].name, table.profiler_step_name);
  EXPECT_EQ(table.by_name[0].count, 2U);
}

TEST(OperatorTable, RowsByShapeAreToldApartByInputDims) {
  SmallTrace trace;
  trace.op("aten::mm", 0, 10, 1, "[[2,3],[3,4]]")
      .op("aten::mm", 20, 10, 1, "[[2,3],[3,4]]")
      .op("aten::mm", 40, 30, 1, "[[8,8],[8,8]]");
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  EXPECT_EQ(results.operator_table->by_name.size(), 1U);
  ASSERT_EQ(results.operator_table->by_shape.size(), 2U);
  EXPECT_EQ(results.operator_table->by_shape[0].cpu_ns, 30'000);
  EXPECT_EQ(results.operator_table->by_shape[1].count, 2U);
}

TEST(OperatorTable, OverheadRowsTakeNoDeviceTime) {
  SmallTrace trace;
  trace.op("aten::mm", 0, 100)
      .call("cudaLaunchKernel", 10, 80, 1)
      .overhead("Command Buffer Full", 20, 50)
      .kernel("gemm", 200, 40, 1);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const OperatorRow* row = find(store, results.operator_table->by_name, "Command Buffer Full");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->device_ns, 0);
  EXPECT_EQ(find(store, results.operator_table->by_name, "aten::mm")->device_ns, 40'000);
}

TEST(OperatorTable, AttributionGoesByTimeAndThreadNotByProfilerIds) {
  SmallTrace trace;
  trace.op("right", 0, 100).op("elsewhere", 0, 100, 2).call("cudaLaunchKernel", 10, 5, 900).kernel("k", 20, 10, 900);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  EXPECT_EQ(find(store, results.operator_table->by_name, "right")->self_device_ns, 10'000);
}

}  // namespace
}  // namespace accel
