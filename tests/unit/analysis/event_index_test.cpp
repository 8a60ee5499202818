#include "analysis/event_index.h"

#include "unit/analysis/small_trace.h"

namespace accel {
namespace {

TEST(EventIndex, CallsAreClassifiedByWhatTheyDoWhateverTheirVariant) {
  const auto call = [](std::string_view name) { return classify_name(name, SliceKind::runtime_call); };
  for (const char* name :
       {"cudaLaunchKernel", "cuLaunchKernelEx", "cudaLaunchKernelExC_v11060", "hipModuleLaunchKernel",
        "hipExtModuleLaunchKernel", "cudaLaunchCooperativeKernel", "cuLaunchKernelFuture"}) {
    EXPECT_EQ(call(name), NameClass::kernel_launch) << name;
  }
  EXPECT_EQ(call("hipGraphLaunch"), NameClass::graph_launch);
  EXPECT_EQ(call("cudaStreamSynchronize"), NameClass::synchronize);
  EXPECT_EQ(call("hipMemcpyWithStream"), NameClass::copy_call);
  EXPECT_EQ(call("cudaMalloc"), NameClass::device_memory);
  EXPECT_EQ(call("cudaFree"), NameClass::device_memory);
  EXPECT_EQ(call("cudaHostAlloc"), NameClass::host_memory);
  EXPECT_EQ(call("cudaStreamIsCapturing"), NameClass::plain);
}

TEST(EventIndex, AFullCommandBufferIsNoCostOfTheRecorder) {
  EXPECT_EQ(classify_name("Command Buffer Full", SliceKind::overhead), NameClass::command_buffer_full);
  EXPECT_EQ(classify_name("Activity Buffer Request", SliceKind::overhead), NameClass::recorder_overhead);
}

TEST(EventIndex, OnlyTheCollectFunctionIsGarbageCollection) {
  EXPECT_EQ(classify_name("<built-in method collect of module object at 0x7f12>", SliceKind::frame),
            NameClass::garbage_collection);
  EXPECT_EQ(classify_name("<built-in method values of collections.OrderedDict object at 0x7f>", SliceKind::frame),
            NameClass::plain);
}

TEST(EventIndex, LinksComeFromCorrelationNotFromNames) {
  SmallTrace trace;
  trace.op("aten::mm", 0, 50).call("cuInventedCall", 10, 5, 7).kernel("k", 20, 5, 7);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const EventIndex& index = *results.event_index;
  EXPECT_EQ(index.slice_flags[0] & kLaunchesInside, kLaunchesInside);
  EXPECT_EQ(index.slice_flags[1], kLaunchesInside | kCallHasDevice);
}

TEST(EventIndex, TheThreadOfTheStepsIsTheMainThread) {
  SmallTrace trace;
  trace.step(1, 0, 100)
      .op("aten::mm", 1, 5, 2)
      .op("aten::mm", 10, 5, 2)
      .call("cudaLaunchKernel", 2, 1, 1, 2)
      .kernel("k", 5, 1, 1);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  EXPECT_EQ(store.threads.tid[results.event_index->main_thread.value], SmallTrace::kMain);
  EXPECT_EQ(results.event_index->launching_threads.size(), 2U);
}

}  // namespace
}  // namespace accel
