#include "analysis/efficiency/efficiency.h"

#include <filesystem>

#include "analysis/kernel_table.h"
#include "ingest/importer.h"
#include "unit/analysis/small_trace.h"

namespace accel {
namespace {

// Work of an op from the texts that a profiler writes.
OpWork work(std::string_view op, std::string_view dims, std::string_view types, std::string_view concrete = {}) {
  TraceStore store;
  OpArgsRow row;
  row.dims = store.strings.intern(dims);
  row.types = store.strings.intern(types);
  if (!concrete.empty()) row.concrete = store.strings.intern(concrete);
  store.op_args.push(row);
  return work_of(op, read_inputs(store, ArgsId(0)));
}

constexpr std::string_view kBf16Pair = R"(["c10::BFloat16", "c10::BFloat16"])";

TEST(OpWork, MatrixProductsCountMultiplyAndAddOverRowsColumnsAndInnerSize) {
  const OpWork mm = work("aten::mm", "[[8, 16], [16, 32]]", kBf16Pair);
  EXPECT_EQ(mm.kind, WorkKind::matmul);
  EXPECT_DOUBLE_EQ(*mm.flops, 2.0 * 8 * 16 * 32);
  EXPECT_DOUBLE_EQ(*mm.bytes, 2.0 * (8 * 16 + 16 * 32 + 8 * 32));
  EXPECT_EQ(mm.type, TensorType::bf16);
  EXPECT_FALSE(mm.composite);
  EXPECT_DOUBLE_EQ(*work("aten::bmm", "[[4, 8, 16], [4, 16, 32]]", kBf16Pair).flops, 4 * 2.0 * 8 * 16 * 32);
  EXPECT_DOUBLE_EQ(
      *work("aten::addmm", "[[32], [8, 16], [16, 32], [], []]", R"(["float", "float", "float", "Scalar", "Scalar"])")
           .flops,
      2.0 * 8 * 16 * 32);
  EXPECT_DOUBLE_EQ(
      *work("aten::baddbmm", "[[4, 8, 32], [4, 8, 16], [4, 16, 32]]", R"(["float", "float", "float"])").flops,
      4 * 2.0 * 8 * 16 * 32);
  const OpWork linear = work("aten::linear", "[[2, 4, 16], [32, 16], [32]]", R"(["float", "float", "float"])");
  EXPECT_DOUBLE_EQ(*linear.flops, 2.0 * 8 * 16 * 32);
  EXPECT_TRUE(linear.composite);
  EXPECT_DOUBLE_EQ(*work("aten::matmul", "[[4, 1, 8, 16], [3, 16, 32]]", kBf16Pair).flops, 12 * 2.0 * 8 * 16 * 32);
}

TEST(OpWork, ShapesThatDoNotFitAreUnknown) {
  EXPECT_EQ(work("aten::mm", "[[8, 16], [17, 32]]", kBf16Pair).kind, WorkKind::none);
  EXPECT_EQ(work("aten::mm", "[[8, 16]", kBf16Pair).kind, WorkKind::none);
  EXPECT_EQ(work("aten::mm", R"([["a"], {}])", kBf16Pair).kind, WorkKind::none);
  EXPECT_EQ(work("aten::mm", "[[], []]", kBf16Pair).kind, WorkKind::none);
}

TEST(OpWork, ConvolutionsUseStridePaddingDilationAndGroups) {
  const std::string_view types = R"(["float", "float", "", "ScalarList", "ScalarList", "ScalarList", "Scalar"])";
  const OpWork conv = work("aten::conv2d", "[[16, 3, 224, 224], [64, 3, 7, 7], [], [], [], [], []]", types,
                           R"(["", "", "", "[2, 2]", "[3, 3]", "[1, 1]", "1"])");
  EXPECT_DOUBLE_EQ(*conv.flops, 2.0 * 16 * 64 * 112 * 112 * 3 * 49);
  const OpWork grouped = work("aten::conv2d", "[[1, 8, 10, 10], [8, 1, 3, 3], [], [], [], [], []]", types,
                              R"(["", "", "", "[1, 1]", "[0, 0]", "[2, 2]", "8"])");
  EXPECT_DOUBLE_EQ(*grouped.flops, 2.0 * 8 * 6 * 6 * 9);
  // Without the concrete inputs the output is not known.
  EXPECT_FALSE(work("aten::conv2d", "[[16, 3, 224, 224], [64, 3, 7, 7], [], [], [], [], []]", types).flops.has_value());
}

TEST(OpWork, ConvolutionBackwardCountsTheGradientsAskedFor) {
  const std::string_view dims = "[[16, 64, 56, 56], [16, 64, 56, 56], [64, 64, 3, 3], [], [], [], [], [], [], [], []]";
  const std::string_view types =
      R"(["float", "float", "float", "ScalarList", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar", "ScalarList"])";
  const double one = 2.0 * 16 * 64 * 56 * 56 * 64 * 9;
  const auto with = [&](std::string_view mask) {
    return *work("aten::convolution_backward", dims, types,
                 R"(["", "", "", "[0]", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", ")" + std::string(mask) +
                     "\"]")
                .flops;
  };
  EXPECT_DOUBLE_EQ(with("[True, True, False]"), 2 * one);
  EXPECT_DOUBLE_EQ(with("[False, True, False]"), one);
  EXPECT_DOUBLE_EQ(with("[True, False, False]"), one);
}

TEST(OpWork, AttentionCountsBothProductsAndHalfOfThemWhenCausal) {
  const std::string_view dims = "[[2, 4, 128, 64], [2, 4, 128, 64], [2, 4, 128, 64], [], [], []]";
  const std::string_view types = R"(["c10::Half", "c10::Half", "c10::Half", "Scalar", "Scalar", "Scalar"])";
  const std::string_view op = "aten::_scaled_dot_product_flash_attention";
  const double full = 4.0 * 2 * 4 * 128 * 128 * 64;
  EXPECT_DOUBLE_EQ(*work(op, dims, types, R"(["", "", "", "0.", "False", "False"])").flops, full);
  EXPECT_DOUBLE_EQ(*work(op, dims, types, R"(["", "", "", "0.", "True", "False"])").flops, full / 2);
  const OpWork backward = work("aten::_scaled_dot_product_flash_attention_backward",
                               "[[2, 4, 128, 64], [2, 4, 128, 64], [2, 4, 128, 64], [2, 4, 128, 64]]",
                               R"(["c10::Half", "c10::Half", "c10::Half", "c10::Half"])");
  EXPECT_DOUBLE_EQ(*backward.flops, 2.5 * full);
  // Packed sequences: the lengths are not recorded.
  EXPECT_FALSE(work("aten::_flash_attention_forward", "[[512, 4, 64], [512, 4, 64], [512, 4, 64]]",
                    R"(["c10::Half", "c10::Half", "c10::Half"])")
                   .flops.has_value());
}

TEST(OpWork, StreamingOpsCountTheBytesThatMustMove) {
  EXPECT_DOUBLE_EQ(*work("aten::add", "[[8, 1, 4], [2, 4], []]", R"(["float", "float", "Scalar"])").bytes,
                   4.0 * (32 + 8 + 64));
  EXPECT_DOUBLE_EQ(*work("aten::copy_", "[[8, 4], [8, 4], []]", R"(["c10::BFloat16", "float", "Scalar"])").bytes,
                   32 * 6);
  EXPECT_DOUBLE_EQ(*work("aten::_softmax", "[[8, 4], [], []]", R"(["float", "Scalar", "Scalar"])").bytes, 32 * 8);
  EXPECT_DOUBLE_EQ(*work("aten::gt", "[[8, 4], []]", R"(["float", "Scalar"])").bytes, 32 * 5);
  EXPECT_EQ(work("aten::view", "[[8, 4], []]", R"(["float", "ScalarList"])").kind, WorkKind::none);
}

TEST(DevicePeaks, NamesAreMatchedByWordsAndVariantsAreUnknown) {
  const auto product = [](std::string_view name, int sms = 0) {
    const DevicePeaks* peaks = find_peaks(name, sms);
    return peaks == nullptr ? std::string("unknown") : std::string(peaks->product);
  };
  EXPECT_EQ(product("NVIDIA H200", 132), "H200");
  EXPECT_EQ(product("NVIDIA H100 80GB HBM3", 132), "H100");
  EXPECT_EQ(product("NVIDIA H100 PCIe", 114), "H100 PCIE");
  EXPECT_EQ(product("NVIDIA A100-SXM4-80GB", 108), "A100 80GB");
  EXPECT_EQ(product("NVIDIA A100-SXM4-40GB"), "A100");
  EXPECT_EQ(product("Tesla V100-SXM2-32GB"), "V100");
  EXPECT_EQ(product("NVIDIA GeForce RTX 4090"), "RTX 4090");
  EXPECT_EQ(product("NVIDIA GeForce RTX 4090 Laptop GPU"), "unknown");
  EXPECT_EQ(product("NVIDIA GeForce RTX 4080 SUPER"), "unknown");
  EXPECT_EQ(product("NVIDIA GeForce RTX 3060"), "unknown");
  EXPECT_EQ(product("NVIDIA H100 80GB HBM3 MIG 1g.10gb", 16), "unknown");
  EXPECT_EQ(product("NVIDIA H200", 66), "unknown");
  EXPECT_EQ(product("AMD Instinct MI300X VF", 304), "MI300X");
  EXPECT_EQ(product("AMD Instinct MI300X", 38), "unknown");
  EXPECT_EQ(product("NVIDIA L40S"), "L40S");
  EXPECT_EQ(product(""), "unknown");
}

TEST(DevicePeaks, AreDenseFigures) {
  for (const DevicePeaks& peaks : all_peaks()) {
    EXPECT_GT(peaks.fp32, 0) << peaks.product;
    EXPECT_GT(peaks.memory_tbps, 0) << peaks.product;
    EXPECT_FALSE(peaks.source.empty()) << peaks.product;
    // A figure with sparsity would make eight-bit four times sixteen-bit, and sixteen-bit over twice TF32.
    EXPECT_LE(peaks.fp8, 2.1 * peaks.fp16) << peaks.product;
    EXPECT_TRUE(peaks.tf32 <= 0 || peaks.fp16 <= 2.1 * peaks.tf32) << peaks.product;
  }
}

DeviceProperties h200() {
  DeviceProperties device;
  device.name = "NVIDIA H200";
  device.sms = 132;
  device.compute_major = 9;
  device.compute_minor = 0;
  device.max_threads_per_sm = 2048;
  device.registers_per_sm = 65536;
  device.shared_memory_per_sm = 233472;
  device.warp_size = 32;
  return device;
}

LaunchConfigRow launch(std::int32_t grid, std::int32_t block, std::int32_t registers, std::int32_t shared) {
  LaunchConfigRow row;
  row.grid_x = grid;
  row.block_x = block;
  row.registers = registers;
  row.shared_memory = shared;
  row.grid_y = row.grid_z = row.block_y = row.block_z = 1;
  return row;
}

// Beside each: warps active as a hardware counter showed them (ncu_truth.csv), which the bound must not fall below.
TEST(Occupancy, IsAnUpperBoundOfWhatCountersShow) {
  const auto gemm = fill_of(h200(), launch(132, 384, 168, 213188));  // 14.7 %
  ASSERT_TRUE(gemm.has_value());
  EXPECT_DOUBLE_EQ(gemm->occupancy, 12.0 / 64);
  EXPECT_EQ(gemm->limit, OccupancyLimit::registers);
  EXPECT_DOUBLE_EQ(gemm->waves, 1);
  const auto align1 = fill_of(h200(), launch(2048, 128, 254, 32768));  // 12.2 %
  EXPECT_DOUBLE_EQ(align1->occupancy, 8.0 / 64);
  EXPECT_EQ(align1->limit, OccupancyLimit::registers);
  const auto norm = fill_of(h200(), launch(8192, 128, 39, 24));  // 66.5 %
  EXPECT_DOUBLE_EQ(norm->occupancy, 0.75);
  const auto softmax = fill_of(h200(), launch(8192, 1024, 32, 128));  // 94.0 %
  EXPECT_DOUBLE_EQ(softmax->occupancy, 1);
}

TEST(Occupancy, SmallGridsLeaveMultiprocessorsEmptyAndPartWavesWaste) {
  const auto small = fill_of(h200(), launch(33, 1024, 32, 0));
  EXPECT_DOUBLE_EQ(small->multiprocessor_share, 0.25);
  EXPECT_EQ(small->limit, OccupancyLimit::grid);
  const auto tail = fill_of(h200(), launch(2 * 132 + 33, 1024, 32, 0));  // two blocks fit: one wave and an eighth
  EXPECT_DOUBLE_EQ(tail->waves, 1.125);
  EXPECT_DOUBLE_EQ(tail->tail_efficiency, 0.5625);
  EXPECT_DOUBLE_EQ(tail->multiprocessor_share, 0.625);
}

TEST(Occupancy, IsUnknownWhereTheDeviceOrTheLaunchIs) {
  DeviceProperties other = h200();
  other.warp_size = 64;
  EXPECT_FALSE(fill_of(other, launch(132, 384, 168, 0)).has_value());
  EXPECT_FALSE(fill_of(h200(), launch(0, 384, 168, 0)).has_value());
  EXPECT_FALSE(fill_of(h200(), launch(kNotRecorded32, 384, 168, 0)).has_value());
}

TEST(Roofline, SaysWhatBoundsAndHowNear) {
  const DevicePeaks* peaks = find_peaks("NVIDIA H200", 132);
  ASSERT_NE(peaks, nullptr);
  OpWork product;
  product.kind = WorkKind::matmul;
  product.type = TensorType::bf16;
  product.flops = 989.4e9;
  product.bytes = 1e6;
  const Roofline half = place_under_roof(peaks, product, true, 2e6);  // 1 ms at the roof, 2 taken
  EXPECT_EQ(half.bound, RoofBound::compute);
  EXPECT_NEAR(*half.roof_share, 0.5, 1e-9);
  EXPECT_NEAR(*half.tflops, 494.7, 0.1);
  // A fp32 product without tensor cores has another roof than one with.
  product.type = TensorType::f32;
  EXPECT_GT(*place_under_roof(peaks, product, false, 30e6).roof_share,
            4 * *place_under_roof(peaks, product, true, 30e6).roof_share);
  OpWork pass;
  pass.kind = WorkKind::elementwise;
  pass.type = TensorType::f32;
  pass.flops = 1e6;
  pass.bytes = 4.8e9;
  EXPECT_EQ(place_under_roof(peaks, pass, false, 2e6).bound, RoofBound::memory);
  EXPECT_EQ(place_under_roof(peaks, pass, false, 0.5e6).bound, RoofBound::cache);
  EXPECT_LE(*place_under_roof(peaks, pass, false, 0.5e6).roof_share, 1);
  EXPECT_FALSE(place_under_roof(nullptr, pass, false, 2e6).roof_share.has_value());
}

TEST(KernelNames, TensorCoresAgreeWithTheHardwareCounters) {
  // From ncu_truth.csv: tensor instructions per FLOP, or none.
  EXPECT_TRUE(uses_tensor_cores(
      "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1>(T1::Params)"));
  EXPECT_TRUE(uses_tensor_cores("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"));
  EXPECT_FALSE(
      uses_tensor_cores("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize256x128x8_stage3_warpsize4x2x1_ffma_aligna4_"
                        "alignc4_execute_kernel__5x_cublas"));
  EXPECT_FALSE(uses_tensor_cores("void at::vectorized_elementwise_kernel<4, at::CUDAFunctorOnSelf_add<float>>"));
  EXPECT_EQ(type_in_kernel_name("cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1"), TensorType::bf16);
  EXPECT_EQ(type_in_kernel_name("cutlass_80_simt_sgemm_128x256_8x4_nt_align1"), TensorType::f32);
  EXPECT_EQ(type_in_kernel_name("triton_poi_fused_add_0"), TensorType::unknown);
}

TEST(Efficiency, WithoutShapesNothingIsInvented) {
  SmallTrace trace;
  trace.step(1, 0, 100).op("aten::mm", 0, 10).launched("nvjet_sm90", 1, 20, 30, 1);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  ASSERT_EQ(results.efficiency->devices.size(), 1U);
  const DeviceEfficiency& device = results.efficiency->devices[0];
  EXPECT_FALSE(results.efficiency->shapes_recorded);
  EXPECT_FALSE(device.mfu.has_value());
  EXPECT_NE(device.why_no_mfu.find("record_shapes=True"), std::string::npos);
  EXPECT_EQ(device.peaks, nullptr);
  ASSERT_EQ(device.groups.size(), 1U);
  EXPECT_FALSE(device.groups[0].work.flops.has_value());
}

// The shape alone, without a type, is not enough for a roof.
TEST(Efficiency, CallsAreGroupedByOpShapeAndKernel) {
  SmallTrace trace;
  trace.step(1, 0, 100);
  trace.op("aten::mm", 0, 10, SmallTrace::kMain, "[[8, 16], [16, 32]]").launched("gemm", 1, 20, 30, 1);
  trace.op("aten::mm", 20, 10, SmallTrace::kMain, "[[8, 16], [16, 32]]").launched("gemm", 21, 50, 10, 2);
  trace.op("aten::mm", 40, 10, SmallTrace::kMain, "[[8, 16], [16, 64]]").launched("gemm", 41, 60, 10, 3);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const DeviceEfficiency& device = results.efficiency->devices[0];
  ASSERT_EQ(device.groups.size(), 2U);
  EXPECT_EQ(device.groups[0].calls, 2U);
  EXPECT_DOUBLE_EQ(device.groups[0].ns_in_steps, 40'000);
}

std::string shared_capture(const std::string& name) {
  const std::filesystem::path file = std::filesystem::path(ACCEL_SOURCE_DIR) / "../shared/traces/h200" / name;
  return std::filesystem::exists(file) ? file.string() : std::string();
}

TEST(Efficiency, OperationsEqualTorchsOwnColumn) {
  const std::string path = shared_capture("variety/all_options.json.gz");
  if (path.empty()) GTEST_SKIP() << "the capture is not here";
  const Result<TraceStore> store = import_trace(path, {});
  ASSERT_TRUE(store.ok());
  const AnalysisResults results = analyse(*store);
  // `flops` of all_options.key_averages.json.
  const std::pair<const char*, double> torch[] = {
      {"aten::conv2d", 116067926016.0}, {"aten::addmm", 32768000.0}, {"aten::mm", 65536000.0}};
  for (const auto& [name, flops] : torch) {
    const StringId id = store->strings.find(name);
    ASSERT_TRUE(id.valid());
    ASSERT_EQ(results.efficiency->op_flops.count(id.value), 1U) << name;
    EXPECT_NEAR(results.efficiency->op_flops.at(id.value), flops, 0.001 * flops) << name;
  }
}

TEST(Efficiency, MfuOfALanguageModelIsStated) {
  const std::filesystem::path path =
      std::filesystem::path(ACCEL_SOURCE_DIR) / "tests/golden/pytorch-2.11_h200/healthy_lm.after.json.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "the capture is not here";
  const Result<TraceStore> store = import_trace(path.string(), {});
  ASSERT_TRUE(store.ok());
  const AnalysisResults results = analyse(*store);
  const DeviceEfficiency& device = results.efficiency->devices.at(0);
  // 8 layers of width 1024 over 16 x 1024 tokens and a vocabulary of 32000: 3 passes of 2 FLOP per weight and token,
  // and causal attention.
  const double tokens = 16 * 1024, weights = 8 * 12.0 * 1024 * 1024 + 32000.0 * 1024;
  const double attention = 8 * 3.5 * 4 * 16 * 16 * 1024.0 * 1024 * 64 / 2;
  EXPECT_NEAR(device.matrix_flops, 6 * tokens * weights + attention, 0.01 * device.matrix_flops);
  ASSERT_TRUE(device.mfu.has_value());
  EXPECT_NEAR(*device.mfu, device.matrix_flops / 42.4e-3 / 989.4e12, 0.03);
  EXPECT_EQ(device.main_type, TensorType::bf16);
}

}  // namespace
}  // namespace accel
