#include "analysis/op_kernels.h"

#include "small_trace.h"

namespace accel {
namespace {

TEST(OpKernels, CountsDeviceWorkOfCompleteStepsByOpAndShape) {
  SmallTrace trace;
  for (int step = 0; step < 3; ++step) {
    const std::int64_t start = step * 1000;
    trace.step(step, start, 1000);
    trace.op("aten::mm", start + 10, 50, SmallTrace::kMain, "[[8, 8]]");
    trace.launched("gemm", start + 20, start + 40, 100, 100 + step);
    trace.op("aten::mm", start + 200, 50, SmallTrace::kMain, "[[4, 4]]");
    trace.launched("gemm", start + 210, start + 240, 60, 200 + step);
    trace.launched("alone", start + 400, start + 420, 10, 300 + step);  // outside every op
  }
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const OpKernels& table = *results.op_kernels;
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.steps, 3U);
  EXPECT_EQ(store.text(table.rows[0].dims), "[[8, 8]]");
  EXPECT_EQ(table.rows[0].count, 3U);
  EXPECT_EQ(table.rows[0].ns, 300'000);
  EXPECT_EQ(store.text(table.rows[1].dims), "[[4, 4]]");
  EXPECT_FALSE(table.rows[2].op.valid());
}

}  // namespace
}  // namespace accel
