#include "report/html/timeline.h"

#include <nlohmann/json.hpp>

#include "report/html/packed.h"
#include "unit/analysis/small_trace.h"

namespace accel::report {
namespace {

TEST(HtmlTimeline, HoldsEveryRecordAndSaysSo) {
  SmallTrace trace;
  trace.step(0, 0, 100).op("a", 10, 20).launched("k", 12, 30, 40, 1);
  const TraceStore store = trace.store();
  const PackedTimeline packed = pack_timeline(store, analyse(store));
  const auto about = nlohmann::json::parse(packed.about);
  std::size_t records = 0;
  for (const auto& track : about["tracks"]) records += track["count"].get<std::size_t>();
  EXPECT_EQ(about["records"], records);
  EXPECT_TRUE(about["left_out"].is_null());
  EXPECT_EQ(about["tracks"][0]["count"], 3);
  EXPECT_EQ(about["tracks"][1]["type"], "stream");
  EXPECT_EQ(about["tracks"][2]["type"], "idle");
}

TEST(HtmlTimeline, LeavesOutTheShortestHostRecordsAndSaysHowMany) {
  SmallTrace trace;
  trace.step(0, 0, 10'000);
  for (int i = 0; i < 100; ++i) trace.op("short", i * 100, 1).op("long", i * 100 + 10, 50);
  trace.launched("k", 9'999, 10'010, 40, 1);
  const TraceStore store = trace.store();
  const auto about = nlohmann::json::parse(pack_timeline(store, analyse(store), 120).about);
  EXPECT_EQ(about["left_out"]["records"], 100);
  EXPECT_EQ(about["left_out"]["shorter_than_ns"], 1024);
  // The range, the long ops, the launch.
  EXPECT_EQ(about["tracks"][0]["count"], 102);
}

TEST(HtmlTimeline, AnEmptyTraceHasNoTracks) {
  const TraceStore store = SmallTrace().store();
  const auto about = nlohmann::json::parse(pack_timeline(store, analyse(store)).about);
  EXPECT_EQ(about["records"], 0);
  EXPECT_TRUE(about["tracks"].empty());
}

TEST(Base64, EncodesEveryLength) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foob\xff"), "Zm9vYv8=");
}

}  // namespace
}  // namespace accel::report
