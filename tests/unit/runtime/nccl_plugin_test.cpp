// The plugin as NCCL uses it: a fake NCCL that looks the tables up in the shared library under their names and calls
// them in NCCL's order.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "accel/profiler/runtime_c.h"
#include "ingest/importer.h"
#include "runtime/nccl/abi.h"
#include "runtime/nccl/events.h"
#include "unit/format/native_files.h"

extern "C" {
extern const accel::runtime::nccl::ProfilerV3 ncclProfiler_v3;
extern const accel::runtime::nccl::ProfilerV4 ncclProfiler_v4;
extern const accel::runtime::nccl::ProfilerV5 ncclProfiler_v5;
extern const accel::runtime::nccl::ProfilerV5 ncclProfiler_v6;
}

namespace accel::runtime::nccl {
namespace {

DescriptorV5 all_reduce(std::uint64_t sequence, std::size_t count = 1024) {
  DescriptorV5 descriptor{};
  descriptor.type = kCollective;
  descriptor.collective.sequence = sequence;
  descriptor.collective.function = "AllReduce";
  descriptor.collective.count = count;
  descriptor.collective.type = "ncclBfloat16";
  descriptor.collective.channels = 16;
  descriptor.collective.algorithm = "RING";
  descriptor.collective.protocol = "SIMPLE";
  return descriptor;
}

class NcclPlugin : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(ncclProfiler_v5.init(&context_, 0xABCD, &mask_, "dp", 2, 8, 3, nullptr), kSuccess);
  }
  void TearDown() override {
    window_closes();
    ncclProfiler_v5.finalize(context_);
  }
  std::vector<Operation> taken(bool all = true) {
    std::vector<Operation> operations;
    Operation one;
    while (next_operation(one, all)) operations.push_back(one);
    return operations;
  }

  void* context_ = nullptr;
  int mask_ = -1;
};

TEST_F(NcclPlugin, asks_for_nothing_while_no_window_is_open_and_for_more_with_the_device) {
  EXPECT_EQ(mask_, 0);
  DescriptorV5 descriptor = all_reduce(1);
  void* handle = &descriptor;
  EXPECT_EQ(ncclProfiler_v5.start(context_, &handle, &descriptor), kSuccess);
  EXPECT_EQ(handle, nullptr);
  EXPECT_EQ(ncclProfiler_v5.stop(handle), kSuccess);
  window_opens(false);
  EXPECT_EQ(mask_, (1 << 1) | (1 << 2) | (1 << 12));
  window_closes();
  EXPECT_EQ(mask_, 0);
  window_opens(true);
  EXPECT_NE(mask_ & (1 << 6), 0);
}

TEST_F(NcclPlugin, tells_a_collective_with_its_communicator_and_the_times_of_its_channels) {
  window_opens(true);
  DescriptorV5 descriptor = all_reduce(7);
  void* handle = nullptr;
  ncclProfiler_v5.start(context_, &handle, &descriptor);
  ASSERT_NE(handle, nullptr);
  ncclProfiler_v5.stop(handle);
  EXPECT_TRUE(taken(false).empty()) << "launched, not done";
  DescriptorV5 channel{};
  channel.type = kKernelChannel;
  channel.parent = handle;
  void* channels[2] = {};
  for (const std::uint64_t start : {std::uint64_t{2000}, std::uint64_t{1500}}) {
    channel.kernel.timer = start;
    ncclProfiler_v5.start(context_, &channels[start == 1500 ? 1 : 0], &channel);
  }
  EXPECT_TRUE(taken(false).empty());
  for (const std::uint64_t end : {std::uint64_t{9000}, std::uint64_t{8000}}) {
    StateArguments arguments{};
    arguments.kernel.timer = end;
    void* one = channels[end == 8000 ? 1 : 0];
    ncclProfiler_v5.state(one, kKernelChannelStop, &arguments);
    ncclProfiler_v5.stop(one);
  }
  const auto operations = taken(false);
  ASSERT_EQ(operations.size(), 1U);
  const Operation& one = operations[0];
  EXPECT_STREQ(one.function, "AllReduce");
  EXPECT_EQ(one.sequence, 7U);
  EXPECT_EQ(one.bytes, 2048U);
  EXPECT_EQ(one.channels, 16U);
  EXPECT_STREQ(one.algorithm, "RING");
  EXPECT_STREQ(one.protocol, "SIMPLE");
  EXPECT_EQ(one.communicator.id, 0xABCDU);
  EXPECT_EQ(one.communicator.ranks, 8);
  EXPECT_EQ(one.communicator.rank, 3);
  EXPECT_STREQ(one.communicator.name, "dp");
  EXPECT_EQ(one.device_begin, 1500U);
  EXPECT_EQ(one.device_end, 9000U);
  EXPECT_LE(one.begin, one.end);
  // The event is gone: a channel that comes late meets nothing.
  void* late = nullptr;
  ncclProfiler_v5.start(context_, &late, &channel);
  EXPECT_EQ(late, nullptr);
  ncclProfiler_v5.stop(handle);
  EXPECT_TRUE(taken().empty());
}

TEST_F(NcclPlugin, every_version_tells_the_same_of_point_to_point_and_collectives) {
  window_opens(false);
  int mask3 = 0;
  void* context3 = nullptr;
  ncclProfiler_v3.init(&context3, &mask3);
  DescriptorV3 old{};
  old.type = static_cast<std::uint8_t>(kPointToPoint);
  old.rank = 1;
  old.point_to_point.name = "pp";
  old.point_to_point.communicator = 0x33;
  old.point_to_point.function = "Send";
  old.point_to_point.type = "ncclFloat32";
  old.point_to_point.count = 10;
  old.point_to_point.peer = 2;
  void* handle = nullptr;
  ncclProfiler_v3.start(context3, &handle, &old);
  ncclProfiler_v3.stop(handle);
  ncclProfiler_v3.finalize(context3);
  int mask4 = 0;
  void* context4 = nullptr;
  ncclProfiler_v4.init(&context4, &mask4, nullptr, 0x44, 1, 4, 0, nullptr);
  DescriptorV4 four{};
  four.type = static_cast<std::uint8_t>(kCollective);
  four.collective.function = "AllGather";
  four.collective.type = "ncclFloat8e4m3";
  four.collective.count = 5;
  ncclProfiler_v4.start(context4, &handle, &four);
  ncclProfiler_v4.stop(handle);
  ncclProfiler_v4.finalize(context4);
  DescriptorV5 six = all_reduce(1);
  six.type = kCopyEngineCollective;
  ncclProfiler_v6.start(context_, &handle, &six);
  ncclProfiler_v6.stop(handle);
  const auto operations = taken();
  ASSERT_EQ(operations.size(), 3U);
  std::set<std::string> said;
  for (const Operation& one : operations)
    said.insert(std::string(one.function) + " " + std::to_string(one.bytes) + " " +
                std::to_string(one.communicator.id) + " " + one.communicator.name + " " + one.algorithm);
  EXPECT_EQ(said, (std::set<std::string>{"Send 40 51 pp ", "AllGather 5 68  ", "AllReduce 2048 43981 dp copy engine"}));
}

TEST_F(NcclPlugin, odd_calls_do_nothing_and_always_succeed) {
  window_opens(true);
  EXPECT_EQ(ncclProfiler_v5.start(nullptr, nullptr, nullptr), kSuccess);
  void* handle = nullptr;
  EXPECT_EQ(ncclProfiler_v5.start(context_, &handle, nullptr), kSuccess);
  DescriptorV5 descriptor{};
  descriptor.type = std::uint64_t{1} << 40U;
  EXPECT_EQ(ncclProfiler_v5.start(context_, &handle, &descriptor), kSuccess);
  EXPECT_EQ(handle, nullptr);
  descriptor = all_reduce(1);
  descriptor.collective.function = nullptr;
  descriptor.collective.algorithm = "an algorithm with a name that is longer than there is room for";
  EXPECT_EQ(ncclProfiler_v5.start(&descriptor, &handle, &descriptor), kSuccess) << "a context that is not ours";
  for (std::uintptr_t odd : {std::uintptr_t{1}, std::uintptr_t{2}, ~std::uintptr_t{0}, std::uintptr_t{0xDEADBEEF}}) {
    auto* const foreign = reinterpret_cast<void*>(odd);  // NOLINT(performance-no-int-to-ptr): never followed
    EXPECT_EQ(ncclProfiler_v5.stop(foreign), kSuccess);
    EXPECT_EQ(ncclProfiler_v5.state(foreign, kKernelChannelStop, nullptr), kSuccess);
  }
  EXPECT_EQ(ncclProfiler_v5.stop(handle), kSuccess);
  EXPECT_EQ(taken().size(), 1U);
  EXPECT_EQ(ncclProfiler_v5.finalize(nullptr), kSuccess);
  EXPECT_EQ(ncclProfiler_v5.init(nullptr, 1, nullptr, nullptr, 1, 1, 0, nullptr), kSuccess);
  EXPECT_EQ(ncclProfiler_v5.init(&context_, 0xABCD, &mask_, "dp", 2, 8, 3, nullptr), kSuccess);
}

TEST_F(NcclPlugin, a_full_pool_counts_what_it_drops_and_goes_on_after) {
  window_opens(false);
  DescriptorV5 descriptor = all_reduce(1);
  int recorded = 0;
  for (int i = 0; i < 5000; ++i) {
    void* handle = nullptr;
    ncclProfiler_v5.start(context_, &handle, &descriptor);
    if (handle != nullptr) ++recorded;
    ncclProfiler_v5.stop(handle);
  }
  EXPECT_EQ(recorded, 4096);
  EXPECT_EQ(dropped(), 904U);
  EXPECT_EQ(taken().size(), 4096U);
  void* handle = nullptr;
  ncclProfiler_v5.start(context_, &handle, &descriptor);
  EXPECT_NE(handle, nullptr);
  ncclProfiler_v5.stop(handle);
}

TEST_F(NcclPlugin, a_handle_of_the_last_window_is_none_of_this_one) {
  window_opens(false);
  DescriptorV5 descriptor = all_reduce(1);
  void* old = nullptr;
  ncclProfiler_v5.start(context_, &old, &descriptor);
  window_closes();
  window_opens(false);
  void* fresh = nullptr;
  ncclProfiler_v5.start(context_, &fresh, &descriptor);
  ncclProfiler_v5.stop(old);
  EXPECT_TRUE(taken().empty());
  ncclProfiler_v5.stop(fresh);
  EXPECT_EQ(taken().size(), 1U);
}

TEST(NcclCapture, holds_what_nccl_told_in_the_words_of_the_engine) {
  const format::TemporaryFolder folder;
  const std::string output = folder.path().string();
  accel_options options = ACCEL_OPTIONS_INIT;
  options.output = output.c_str();
  ASSERT_EQ(accel_enable(&options), ACCEL_OK);
  void* context = nullptr;
  int mask = 0;
  ncclProfiler_v6.init(&context, 0xFEED, &mask, "tp", 1, 2, 1, nullptr);
  accel_schedule schedule = ACCEL_SCHEDULE_INIT;
  schedule.wait = 0;
  schedule.warmup = 1;
  schedule.active = 4;
  ASSERT_EQ(accel_capture(&schedule), ACCEL_OK);
  const auto waits_or_records = [] {
    return accel_runtime_state() == ACCEL_STATE_ARMED || accel_runtime_state() == ACCEL_STATE_ACTIVE;
  };
  for (int step = 0; step < 2000 && waits_or_records(); ++step) {
    DescriptorV5 descriptor = all_reduce(static_cast<std::uint64_t>(step), 4096);
    void* handle = nullptr;
    ncclProfiler_v6.start(context, &handle, &descriptor);
    ncclProfiler_v6.stop(handle);
    accel_step(nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_EQ(accel_wait(10'000), ACCEL_OK);
  ncclProfiler_v6.finalize(context);
  accel_disable();
  std::string capture;
  for (const auto& entry : std::filesystem::directory_iterator(output))
    if (entry.path().extension() == ".accel") capture = entry.path().string();
  const auto store = import_trace(capture, {});
  ASSERT_TRUE(store.ok()) << store.error().message;
  ASSERT_GE(store->collectives.size(), 3U);
  EXPECT_LE(store->collectives.size(), 6U);
  for (std::size_t i = 0; i < store->collectives.size(); ++i) {
    EXPECT_EQ(store->text(store->collectives.name[i]), "all_reduce");
    EXPECT_EQ(store->text(store->collectives.group_name[i]), "feed");
    EXPECT_EQ(store->text(store->collectives.group_description[i]), "tp RING/SIMPLE");
    EXPECT_EQ(store->text(store->collectives.dtype[i]), "Bfloat16");
    EXPECT_EQ(store->collectives.group_size[i], 2);
    EXPECT_EQ(store->collectives.in_elements[i], 4096);
    ASSERT_TRUE(store->collectives.op[i].valid());
    EXPECT_EQ(store->text(store->slices.name[store->collectives.op[i].value]), "nccl:all_reduce");
    EXPECT_GT(store->slices.dur_ns[store->collectives.op[i].value], 0);
  }
}

}  // namespace
}  // namespace accel::runtime::nccl
