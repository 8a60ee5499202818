// The importer on real captures of this repository.
#include <gtest/gtest.h>

#include <algorithm>

#include "ingest/importer.h"

namespace accel {
namespace {

const std::string kGolden = std::string(ACCEL_SOURCE_DIR) + "/tests/golden/pytorch-2.11_h200/";

TEST(GoldenCaptures, EveryDeviceEventOfAnEagerJobFindsItsLaunch) {
  const Result<TraceStore> store = import_trace(kGolden + "launch_bound.before.json.gz", {});
  ASSERT_TRUE(store.ok()) << store.error().message;
  EXPECT_EQ(store->input.format, "kineto_json");
  EXPECT_EQ(store->input.events, 29481U);
  EXPECT_EQ(store->slices.size(), 17589U);
  ASSERT_EQ(store->device_events.size(), 3208U);
  EXPECT_TRUE(std::all_of(store->device_events.launch.begin(), store->device_events.launch.end(),
                          [](SliceId id) { return id.valid(); }));
  EXPECT_EQ(store->notes.find(NoteCode::external_id_disagrees), nullptr);
}

TEST(GoldenCaptures, MetadataOfTheProcessIsRead) {
  const Result<TraceStore> store = import_trace(kGolden + "launch_bound.before.json.gz", {});
  ASSERT_TRUE(store.ok()) << store.error().message;
  const ProcessInfo& process = store->process;
  ASSERT_FALSE(process.devices.empty());
  EXPECT_EQ(process.devices[0].name, "NVIDIA H200");
  EXPECT_EQ(process.devices[0].sms, 132);
  EXPECT_EQ(process.versions.at("cupti_version"), "130001");
  EXPECT_TRUE(process.base_time_ns.has_value());
  EXPECT_GT(store->time_range.start_ns, *process.base_time_ns);
}

TEST(GoldenCaptures, GraphReplaysHaveManyKernelsOnOneLaunch) {
  const Result<TraceStore> store = import_trace(kGolden + "launch_bound.after.json.gz", {});
  ASSERT_TRUE(store.ok()) << store.error().message;
  EXPECT_EQ(store->device_events.size(), 4158U);
  EXPECT_EQ(std::count_if(store->device_events.launch.begin(), store->device_events.launch.end(),
                          [](SliceId id) { return id.valid(); }),
            3208);
}

}  // namespace
}  // namespace accel
