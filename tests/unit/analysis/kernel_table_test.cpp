#include "analysis/kernel_table.h"

#include "unit/analysis/small_trace.h"

namespace accel {
namespace {

TEST(KernelTable, CountsTotalsAndSharesPerName) {
  SmallTrace trace;
  trace.step(1, 0, 100)
      .launched("a", 0, 10, 30, 1)
      .launched("a", 20, 50, 10, 2)
      .launched("b", 30, 70, 4, 3)
      .kernel("b", 200, 56, 99);
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

TEST(KernelNames, ShortNamesSayWhatAKernelDoes) {
  EXPECT_EQ(
      short_kernel_name(
          "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, "
          "at::native::GeluType)::{lambda()#1}, std::array<char*, 2ul> >(int, X)"),
      "vectorized_elementwise_kernel (Gelu)");
  EXPECT_EQ(short_kernel_name("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
                              "std::array<char*, 3ul> >(int)"),
            "vectorized_elementwise_kernel (add)");
  EXPECT_EQ(
      short_kernel_name(
          "void at::native::elementwise_kernel<128, 2, "
          "at::native::gpu_kernel_impl_nocast<at::native::BUnaryFunctor<float, float, "
          "float, at::native::binary_internal::MulFunctor<float> > >(at::TensorIteratorBase&)::{lambda(int)#1}>(int)"),
      "elementwise_kernel (Mul)");
  EXPECT_EQ(short_kernel_name("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
                              "at::native::MeanOps<float, float, float, float>, "
                              "unsigned int, float, 4, 4> >(X)"),
            "reduce_kernel (Mean)");
  EXPECT_EQ(short_kernel_name(
                "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
                "FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, "
                "4, X, false>, float>(X)"),
            "multi_tensor_apply_kernel (FusedAdam)");
  EXPECT_EQ(short_kernel_name("void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_tn_align1>(X)"),
            "cutlass_80_simt_sgemm_64x64_8x5_tn_align1");
  EXPECT_EQ(short_kernel_name("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"),
            "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT");
  EXPECT_EQ(short_kernel_name("_Z6vecAddPKfS0_Pf"), "vecAdd");
  EXPECT_EQ(short_kernel_name("triton_poi_fused_gelu_view_8"), "triton_poi_fused_gelu_view_8");
  EXPECT_EQ(short_kernel_name(""), "");
}

TEST(KernelNames, NamesThatCannotBeDemangledStillSayTheirPart) {
  EXPECT_EQ(
      short_kernel_name("_ZN17cutlass__5x_cudnn6KernelINS_4conv6kernel23ImplicitGemmConvolutionINS1_11threadblock"),
      "ImplicitGemmConvolution");
}

// Checked against hardware counters: the pipe of the tensor cores executed 134,217,728 instructions in the first,
// 4,194,304 in the second and next to none in the third.
TEST(KernelNames, TensorCoresAreToldByName) {
  EXPECT_TRUE(uses_tensor_cores(
      "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1>(T1::Params)"));
  EXPECT_TRUE(uses_tensor_cores("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"));
  EXPECT_FALSE(
      uses_tensor_cores("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize256x128x8_stage3_warpsize4x2x1_ffma_aligna4_"
                        "alignc4_execute_kernel__5x_cublas"));
  EXPECT_FALSE(uses_tensor_cores(
      "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, false>(int)"));
  EXPECT_FALSE(uses_tensor_cores("void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_tn_align1>(X)"));
  EXPECT_TRUE(uses_tensor_cores("Cijk_Ailk_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT128x128x32_MI16x16x1"));
}

}  // namespace
}  // namespace accel
