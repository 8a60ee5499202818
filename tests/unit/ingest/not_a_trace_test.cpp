// What people hand over in place of a trace: the answer names it and says what to do.
#include <gtest/gtest.h>

#include <filesystem>

#include "unit/ingest/stores.h"

namespace accel {
namespace {

std::string answer(std::string_view content) {
  const Result<TraceStore> store = testing::import_text(content);
  if (store.ok()) return "a trace";
  EXPECT_EQ(store.error().code, ErrorCode::not_a_trace);
  return store.error().message;
}

void expect_named(std::string_view content, std::string_view name) {
  const std::string said = answer(content);
  EXPECT_NE(said.find(name), std::string::npos) << said;
  EXPECT_GE(std::count(said.begin(), said.end(), '.'), 1) << said;
}

TEST(NotATrace, IsNamed) {
  expect_named("", "empty");
  expect_named("  \n ", "white space");
  expect_named("<!DOCTYPE html><html>", "HTML");
  expect_named(std::string_view("SQLite format 3\0...CUPTI_ACTIVITY_KIND_KERNEL", 45), "Nsight Systems");
  expect_named("NVIDIA Tegra Profiler report", "nsys export");
  expect_named("\x80\x04\x95 segments device_traces", "memory snapshot");
  expect_named("\x80\x02}q pg_config entries", "flight recorder");
  expect_named(R"({"version": "2.9", "pg_config": {}, "entries": []})", "flight recorder");
  expect_named(R"({"schema": "1.0.2-chakra.0.0.4", "pid": 1, "nodes": []})", "execution trace");
  expect_named(R"({"$schema": "https://www.speedscope.app/file-format-schema.json"})", "speedscope");
  expect_named(R"({"scenario": "x", "step_ms": 3})", "\"scenario\", \"step_ms\"");
  expect_named(R"([1, 2, 3])", "list");
  expect_named("hello", "text");
  expect_named("\x01\x02\x03\x04", "binary");
  expect_named("version https://git-lfs.github.com/spec/v1", "git lfs pull");
}

TEST(NotATrace, EmptyTracesAreTracesWithANote) {
  for (const std::string_view text : {"{}", "[]", R"({"traceEvents": []})", R"({"schemaVersion": 1})",
                                      R"([{"ph":"M","name":"process_name","pid":1,"args":{"name":"x"}}])"}) {
    const Result<TraceStore> store = testing::import_text(text);
    ASSERT_TRUE(store.ok()) << text;
    EXPECT_EQ(testing::count_of(*store, NoteCode::no_events), 1U) << text;
  }
}

TEST(NotATrace, AFolderIsNamed) {
  const Result<TraceStore> store = import_trace(ACCEL_SOURCE_DIR, {});
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().code, ErrorCode::not_a_trace);
}

TEST(NotATrace, EverySharedFileIsATraceOrIsNamed) {
  const std::filesystem::path shared = std::filesystem::path(ACCEL_SOURCE_DIR) / "../shared/traces";
  if (!std::filesystem::exists(shared)) GTEST_SKIP() << "the shared traces are not here";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(shared)) {
    if (!entry.is_regular_file()) continue;
    const Result<TraceStore> store = import_trace(entry.path().string(), {});
    if (store.ok()) continue;
    EXPECT_EQ(store.error().code, ErrorCode::not_a_trace) << entry.path();
    EXPECT_GT(store.error().message.size(), 40U) << entry.path();
  }
}

}  // namespace
}  // namespace accel
