#include "trace/trace_builder.h"

#include <gtest/gtest.h>

namespace accel {
namespace {

SliceRow slice(TraceBatch& batch, ThreadIndex thread, SliceKind kind, std::string_view name, std::int64_t start,
               std::int64_t dur) {
  SliceRow row;
  row.start_ns = start;
  row.dur_ns = dur;
  row.name = batch.intern(name);
  row.thread = thread;
  row.kind = kind;
  return row;
}

void add_op(TraceBatch& batch, ThreadIndex thread, std::string_view name, std::int64_t start, std::int64_t dur) {
  OpDetailRow detail{kNotRecorded, kNotRecorded, ArgsId(), kNotRecorded32};
  batch.add_slice(slice(batch, thread, SliceKind::op, name, start, dur), &detail);
}

void add_call(TraceBatch& batch, ThreadIndex thread, std::string_view name, std::int64_t start, std::int64_t dur,
              std::int64_t correlation) {
  CallDetailRow detail{correlation, kNotRecorded};
  batch.add_slice(slice(batch, thread, SliceKind::runtime_call, name, start, dur), &detail);
}

void add_kernel(TraceBatch& batch, std::int64_t start, std::int64_t dur, std::int64_t correlation) {
  DeviceEventRow row;
  row.start_ns = start;
  row.dur_ns = dur;
  row.correlation = correlation;
  row.external_id = kNotRecorded;
  row.name = batch.intern("kernel");
  row.stream = batch.add_stream(0, 1, 7);
  KernelDetailRow detail;
  batch.add_device_event(row, &detail);
}

std::string parent_name(const TraceStore& store, std::string_view name) {
  for (std::uint32_t i = 0; i < store.slices.size(); ++i) {
    if (store.text(store.slices.name[i]) != name) continue;
    const SliceId parent = store.slices.parent[i];
    return parent.valid() ? std::string(store.text(store.slices.name[parent.value])) : "none";
  }
  return "absent";
}

TraceStore finish(TraceBatch& batch) {
  TraceBuilder builder;
  builder.commit(batch, 0);
  Result<TraceStore> store = builder.finish();
  EXPECT_TRUE(store.ok());
  return std::move(*store);
}

TEST(TraceBuilder, NestsByTimeOnEachThread) {
  TraceBatch batch;
  const ThreadIndex main = batch.add_thread(1, 1, StringId(), StringId());
  const ThreadIndex other = batch.add_thread(1, 2, StringId(), StringId());
  add_op(batch, main, "inner", 10, 20);
  add_op(batch, main, "outer", 0, 100);
  add_op(batch, main, "next", 100, 10);
  add_op(batch, other, "elsewhere", 10, 5);
  const TraceStore store = finish(batch);
  EXPECT_EQ(parent_name(store, "inner"), "outer");
  EXPECT_EQ(parent_name(store, "next"), "none");
  EXPECT_EQ(parent_name(store, "elsewhere"), "none");
  EXPECT_EQ(store.slices.depth[1], 1);
  EXPECT_EQ(store.thread_ranges[1], std::make_pair(3U, 4U));
}

TEST(TraceBuilder, ASliceThatEndsAfterItsParentStaysItsChildAndIsMarked) {
  TraceBatch batch;
  const ThreadIndex main = batch.add_thread(1, 1, StringId(), StringId());
  add_op(batch, main, "outer", 0, 100);
  add_op(batch, main, "crossing", 90, 20);
  const TraceStore store = finish(batch);
  EXPECT_EQ(parent_name(store, "crossing"), "outer");
  EXPECT_EQ(store.slices.flags[1], kSliceCrossing);
}

TEST(TraceBuilder, ASliceOfNoLengthSwallowsNothing) {
  TraceBatch batch;
  const ThreadIndex main = batch.add_thread(1, 1, StringId(), StringId());
  add_op(batch, main, "point", 5, 0);
  add_op(batch, main, "after", 5, 0);
  const TraceStore store = finish(batch);
  EXPECT_EQ(parent_name(store, "point"), "none");
  EXPECT_EQ(parent_name(store, "after"), "none");
}

TEST(TraceBuilder, AnUnfinishedSliceIsOpenUntilItsParentEndsAndCountsNoTime) {
  TraceBatch batch;
  const ThreadIndex main = batch.add_thread(1, 1, StringId(), StringId());
  add_op(batch, main, "outer", 0, 100);
  SliceRow open = slice(batch, main, SliceKind::other, "open", 10, 0);
  open.flags = kSliceUnfinished;
  batch.add_slice(open, static_cast<const OpDetailRow*>(nullptr));
  add_op(batch, main, "inside", 50, 10);
  add_op(batch, main, "later", 200, 10);
  const TraceStore store = finish(batch);
  EXPECT_EQ(parent_name(store, "inside"), "open");
  EXPECT_EQ(parent_name(store, "later"), "none");
}

TEST(TraceBuilder, LinksByCorrelationWhateverTheCallIsNamed) {
  TraceBatch batch;
  const ThreadIndex main = batch.add_thread(1, 1, StringId(), StringId());
  add_call(batch, main, "cuLaunchKernelFuture", 10, 5, 42);
  add_kernel(batch, 20, 5, 42);
  add_kernel(batch, 5, 5, 41);
  const TraceStore store = finish(batch);
  ASSERT_EQ(store.device_events.size(), 2U);
  EXPECT_FALSE(store.device_events.launch[0].valid());
  EXPECT_EQ(store.device_events.launch[1], SliceId(0));
}

TEST(TraceBuilder, OfSeveralCallsWithOneCorrelationTheNearestEarlierLaunches) {
  TraceBatch batch;
  const ThreadIndex main = batch.add_thread(1, 1, StringId(), StringId());
  add_call(batch, main, "first", 0, 5, 7);
  add_call(batch, main, "second", 100, 5, 7);
  add_kernel(batch, 50, 5, 7);
  add_kernel(batch, 150, 5, 7);
  const TraceStore store = finish(batch);
  EXPECT_EQ(store.device_events.launch[0], SliceId(0));
  EXPECT_EQ(store.device_events.launch[1], SliceId(1));
  ASSERT_NE(store.notes.find(NoteCode::ambiguous_correlation), nullptr);
  EXPECT_EQ(store.notes.find(NoteCode::ambiguous_correlation)->count, 2U);
}

TEST(TraceBuilder, AddsTheBaseToEveryTime) {
  TraceBatch batch;
  const ThreadIndex main = batch.add_thread(1, 1, StringId(), StringId());
  add_op(batch, main, "op", 5, 10);
  add_kernel(batch, 7, 3, 1);
  TraceBuilder builder;
  builder.process().base_time_ns = 1000;
  builder.commit(batch, 0);
  const Result<TraceStore> store = builder.finish();
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(store->slices.start_ns[0], 1005);
  EXPECT_EQ(store->device_events.start_ns[0], 1007);
  EXPECT_EQ(store->time_range, (Interval{1005, 1015}));
}

TEST(TraceBuilder, BatchesShareStringsAndInternedRows) {
  TraceBuilder builder;
  for (std::uint64_t piece = 0; piece < 3; ++piece) {
    TraceBatch batch;
    batch.intern("only here " + std::to_string(piece));
    const ThreadIndex main = batch.add_thread(1, 1, StringId(), StringId());
    const ArgsId args = batch.add_op_args({batch.intern("[[2, 2]]"), StringId(), StringId(), StringId()});
    const OpDetailRow detail{static_cast<std::int64_t>(piece), kNotRecorded, args, kNotRecorded32};
    batch.add_slice(slice(batch, main, SliceKind::op, "aten::add", static_cast<std::int64_t>(piece) * 10, 5), &detail);
    builder.commit(batch, piece);
    EXPECT_EQ(batch.slices.size(), 0U);
  }
  const Result<TraceStore> store = builder.finish();
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(store->slices.size(), 3U);
  EXPECT_EQ(store->threads.size(), 1U);
  EXPECT_EQ(store->op_args.size(), 1U);
  EXPECT_EQ(store->slices.name[0], store->slices.name[2]);
  EXPECT_EQ(store->op_details.sequence[store->slices.detail[2].value], 2);
  EXPECT_EQ(store->text(store->op_args.dims[0]), "[[2, 2]]");
}

}  // namespace
}  // namespace accel
