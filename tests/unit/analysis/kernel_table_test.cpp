#include "analysis/kernel_table.h"

#include "unit/analysis/small_trace.h"

namespace accel {
namespace {

TEST(KernelTable, CountsTotalsAndSharesPerName) {
  SmallTrace trace;
  trace.step(1, 0, 100).launched("a", 0, 10, 30, 1).launched("a", 20, 50, 10, 2).launched("b", 30, 70, 4, 3).kernel("b", 200, 56, 99);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const KernelTable& table = *results.kernel_table;
  ASSERT_EQ(table.kernels.size(), 2U);
  EXPECT_EQ(table.kernels[0].short_name, "b");
  EXPECT_EQ(table.kernels[0].total_ns, 60'000);
  EXPECT_EQ(table.kernels[0].count_in_steps, 1U);
  EXPECT_EQ(table.kernels[1].min_ns, 10'000);
  EXPECT_EQ(table.kernels[1].max_ns, 30'000);
  EXPECT_DOUBLE_EQ(table.kernels[1].share, 0.4);
  EXPECT_DOUBLE_EQ(table.kernels_per_step, 3);
  EXPECT_DOUBLE_EQ(table.share_below_5us, 1.0 / 3);
}

TEST(KernelTable, CopiesAreGroupedByDirectionAndMemory) {
  SmallTrace trace;
  trace.step(1, 0, 100).call("cudaMemcpyAsync", 0, 5, 1).call("cudaMemcpyAsync", 10, 5, 2);
  trace.copy(CopyDirection::host_to_device, MemoryKind::pageable, MemoryKind::device, 10, 20, 1, 1000);
  trace.copy(CopyDirection::host_to_device, MemoryKind::pinned, MemoryKind::device, 40, 10, 2, 500);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  ASSERT_EQ(results.kernel_table->copies.size(), 2U);
  EXPECT_EQ(results.kernel_table->copies[0].source, MemoryKind::pageable);
  EXPECT_EQ(results.kernel_table->copies[0].bytes_in_steps, 1000);
}

TEST(KernelTable, CommunicationIsToldByNcclAndRcclInAnyCase) {
  EXPECT_TRUE(is_communication_kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"));
  EXPECT_TRUE(is_communication_kernel("ncclKernel_AllGather_RING_LL_Sum_int8_t"));
  EXPECT_TRUE(is_communication_kernel("void RCCL_something"));
  EXPECT_FALSE(is_communication_kernel("sm90_xmma_gemm"));
}

}  // namespace
}  // namespace accel
