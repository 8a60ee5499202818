#include "trace/window.h"

#include <gtest/gtest.h>

#include "trace/trace_builder.h"

namespace accel {
namespace {

class Window : public testing::Test {
 protected:
  void add(SliceKind kind, std::string_view name, std::int64_t start, std::int64_t dur,
           std::int64_t correlation = kNotRecorded) {
    SliceRow row;
    row.start_ns = start;
    row.dur_ns = dur;
    row.name = batch_.intern(name);
    row.thread = batch_.add_thread(1, 1, StringId(), StringId());
    row.kind = kind;
    if (kind == SliceKind::runtime_call) {
      const CallDetailRow call{correlation, kNotRecorded};
      batch_.add_slice(row, &call);
    } else {
      const OpDetailRow op{kNotRecorded, kNotRecorded, ArgsId(), kNotRecorded32};
      batch_.add_slice(row, &op);
    }
  }
  void add_kernel(std::int64_t start, std::int64_t dur, std::int64_t correlation) {
    DeviceEventRow row;
    row.start_ns = start;
    row.dur_ns = dur;
    row.correlation = correlation;
    row.external_id = kNotRecorded;
    row.name = batch_.intern("kernel");
    row.stream = batch_.add_stream(0, 1, 7);
    const KernelDetailRow detail;
    batch_.add_device_event(row, &detail);
  }
  TraceStore store() {
    TraceBuilder builder;
    builder.commit(batch_, 0);
    Result<TraceStore> store = builder.finish();
    EXPECT_TRUE(store.ok());
    return std::move(*store);
  }
  static std::vector<std::string> names(const TraceStore& store) {
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < store.slices.size(); ++i) names.emplace_back(store.text(store.slices.name[i]));
    return names;
  }

 private:
  TraceBatch batch_;
};

TEST_F(Window, keeps_what_reaches_into_it_and_device_work_by_its_launch) {
  add(SliceKind::op, "before", 0, 10);
  add(SliceKind::op, "reaches in", 90, 20);
  add(SliceKind::runtime_call, "launch inside", 150, 5, 1);
  add(SliceKind::op, "starts at the end", 200, 10);
  add(SliceKind::runtime_call, "launch after", 210, 5, 2);
  add_kernel(230, 50, 1);
  add_kernel(300, 50, 2);
  TraceStore trace = store();
  EXPECT_EQ(keep_window(trace, {100, 200}), 4U);
  EXPECT_EQ(names(trace), (std::vector<std::string>{"reaches in", "launch inside"}));
  ASSERT_EQ(trace.device_events.size(), 1U);
  EXPECT_EQ(trace.device_events.launch[0], SliceId(1));
  EXPECT_EQ(trace.time_range.start_ns, 100);
  EXPECT_EQ(trace.time_range.end_ns, 280) << "work that was launched inside runs to its end";
  ASSERT_EQ(trace.device_ranges.size(), 1U);
  EXPECT_EQ(trace.device_ranges[0].last, 1U);
}

TEST_F(Window, gives_what_lost_its_parent_the_next_one_out) {
  add(SliceKind::op, "outer", 0, 1000);
  add(SliceKind::op, "inner", 100, 50);
  add(SliceKind::op, "later", 500, 100);
  add(SliceKind::op, "deep", 510, 10);
  TraceStore trace = store();
  keep_window(trace, {400, 700});
  EXPECT_EQ(names(trace), (std::vector<std::string>{"outer", "later", "deep"}));
  EXPECT_EQ(trace.slices.parent[1], SliceId(0));
  EXPECT_EQ(trace.slices.parent[2], SliceId(1));
  EXPECT_EQ(trace.slices.depth[2], 2);
  EXPECT_EQ(trace.thread_ranges[0].second, 3U);
}

TEST_F(Window, spans_the_steps_that_are_asked_for) {
  add(SliceKind::annotation, "ProfilerStep#3", 0, 100);
  add(SliceKind::annotation, "ProfilerStep#4", 100, 110);
  add(SliceKind::annotation, "ProfilerStep#5", 210, 90);
  const TraceStore trace = store();
  EXPECT_EQ(window_of_steps(trace, 4, 5).start_ns, 100);
  EXPECT_EQ(window_of_steps(trace, 4, 5).end_ns, 300);
  EXPECT_EQ(window_of_steps(trace, 7, 9).end_ns, window_of_steps(trace, 7, 9).start_ns) << "no such step";
}

}  // namespace
}  // namespace accel
