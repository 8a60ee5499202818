#include "analysis/efficiency/efficiency.h"

#include "unit/analysis/small_trace.h"

namespace accel {
namespace {

// Steps of 1000 us that copy `dims` to the device and then run the ops.
struct Job {
  SmallTrace trace;
  std::int64_t correlation = 1;

  void copy(std::int64_t at, std::string_view dims) {
    trace.op("aten::copy_", at, 20, SmallTrace::kMain, dims);
    trace.call("cudaMemcpyAsync", at + 5, 10, correlation);
    trace.copy(CopyDirection::host_to_device, MemoryKind::pinned, MemoryKind::device, at + 8, 5, correlation++);
  }
  void op(std::string_view name, std::int64_t at, std::string_view dims) {
    trace.op(name, at, 20, SmallTrace::kMain, dims);
    trace.launched("kernel", at + 5, at + 10, 10, correlation++);
  }
  StepInput find() {
    const TraceStore store = trace.store();
    return analyse(store).efficiency->input;
  }
};

TEST(StepInput, ABatchOfSequencesIsConfirmedByItsEmbeddingAndItsAttention) {
  Job job;
  for (int step = 0; step < 3; ++step) {
    const std::int64_t at = step * 1000;
    job.trace.step(step, at, 1000);
    job.copy(at + 10, "[[8, 512], [8, 512], []]");
    job.op("aten::embedding", at + 100, "[[32000, 768], [8, 512], [], [], []]");
    job.op("aten::scaled_dot_product_attention", at + 200, "[[8, 12, 512, 64], [8, 12, 512, 64]]");
  }
  const StepInput input = job.find();
  EXPECT_EQ(input.samples, 8.0);
  EXPECT_EQ(input.tokens, 4096.0);
}

TEST(StepInput, SequenceFirstIsSeenInTheAttention) {
  Job job;
  for (int step = 0; step < 2; ++step) {
    const std::int64_t at = step * 1000;
    job.trace.step(step, at, 1000);
    job.copy(at + 10, "[[512, 8], [512, 8], []]");
    job.op("aten::embedding", at + 100, "[[32000, 768], [512, 8]]");
    job.op("aten::scaled_dot_product_attention", at + 200, "[[8, 12, 512, 64]]");
  }
  const StepInput input = job.find();
  EXPECT_EQ(input.samples, 8.0);
  EXPECT_EQ(input.tokens, 4096.0);
}

TEST(StepInput, AnImageIsReadByAConvolutionAndPartsOfAnAccumulatedStepAddUp) {
  Job job;
  for (int step = 0; step < 2; ++step) {
    const std::int64_t at = step * 1000;
    job.trace.step(step, at, 1000);
    for (int part = 0; part < 2; ++part) {
      job.copy(at + 10 + part * 400, "[[64, 3, 224, 224], [64, 3, 224, 224], []]");
      job.copy(at + 40 + part * 400, "[[64], [64], []]");
      job.op("aten::conv2d", at + 100 + part * 400, "[[64, 3, 224, 224], [64, 3, 7, 7]]");
      job.op("autograd::engine::evaluate_function: ConvolutionBackward0", at + 200 + part * 400, "[[64]]");
    }
  }
  const StepInput input = job.find();
  EXPECT_EQ(input.samples, 128.0);
  EXPECT_FALSE(input.tokens.has_value());
}

TEST(StepInput, InputAndTargetOfOneShapeAreOneBatch) {
  Job job;
  for (int step = 0; step < 2; ++step) {
    const std::int64_t at = step * 1000;
    job.trace.step(step, at, 1000);
    job.copy(at + 10, "[[4, 64], [4, 64], []]");
    job.copy(at + 40, "[[4, 64], [4, 64], []]");
    job.op("aten::embedding", at + 100, "[[1000, 32], [4, 64]]");
    job.op("aten::_softmax", at + 200, "[[4, 2, 64, 64]]");
    job.op("autograd::engine::evaluate_function: EmbeddingBackward0", at + 300, "[[4]]");
  }
  EXPECT_EQ(job.find().samples, 4.0);
}

TEST(StepInput, WhatNothingConfirmsIsNotKnown) {
  Job job;
  for (int step = 0; step < 2; ++step) {
    const std::int64_t at = step * 1000;
    job.trace.step(step, at, 1000);
    job.copy(at + 10, "[[64, 128], [64, 128], []]");
    job.op("aten::linear", at + 100, "[[64, 128], [128, 128]]");
  }
  const StepInput input = job.find();
  EXPECT_FALSE(input.samples.has_value());
  EXPECT_NE(input.samples_basis.find("no op confirms"), std::string::npos);
}

TEST(StepInput, WithoutACopyTheFirstReaderCounts) {
  Job job;
  for (int step = 0; step < 2; ++step) {
    const std::int64_t at = step * 1000;
    job.trace.step(step, at, 1000);
    job.op("aten::conv2d", at + 100, "[[16, 3, 32, 32], [64, 3, 7, 7]]");
  }
  EXPECT_EQ(job.find().samples, 16.0);
}

TEST(StepInput, DamagedShapesAreNoShapes) {
  for (const char* dims :
       {"[[", "[[8, 5", "]]", "[[-3, 4]]", "[[99999999999999999999, 2]]", "[[[8, 2], [3]], []]", "x"}) {
    Job job;
    for (int step = 0; step < 2; ++step) {
      job.trace.step(step, step * 1000, 1000);
      job.copy(step * 1000 + 10, dims);
    }
    EXPECT_FALSE(job.find().samples.has_value()) << dims;
  }
}

}  // namespace
}  // namespace accel
