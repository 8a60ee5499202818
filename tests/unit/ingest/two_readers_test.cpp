// The fast and the exact reader find the same in every text, however it is cut into pieces.
#include <gtest/gtest.h>

#include <filesystem>

#include "unit/ingest/stores.h"

namespace accel {
namespace {

using testing::difference;
using testing::import_with;
using testing::unpacked;

void expect_agreement(const std::string& path, const std::string& text) {
  const Result<TraceStore> fast = import_with(text, {.threads = 2});
  const Result<TraceStore> exact = import_with(text, {.threads = 1, .exact_only = true});
  const Result<TraceStore> small = import_with(text, {.threads = 2, .chunk_bytes = 20'000});
  ASSERT_TRUE(fast.ok() && exact.ok() && small.ok()) << path;
  EXPECT_EQ(difference(*fast, *exact), "") << path;
  EXPECT_EQ(difference(*fast, *small), "") << path;
}

TEST(TwoReaders, AgreeOnTheGoldenCaptures) {
  for (const char* name : {"launch_bound.before.json.gz", "launch_bound.after.json.gz", "pageable_h2d.before.json.gz",
                           "healthy_lm.after.json.gz"}) {
    const std::string path = testing::golden_path(name);
    expect_agreement(path, unpacked(path));
  }
}

TEST(TwoReaders, AgreeOnEveryTextOfTheSharedTraces) {
  const std::filesystem::path shared = std::filesystem::path(ACCEL_SOURCE_DIR) / "../shared/traces";
  if (!std::filesystem::exists(shared)) GTEST_SKIP() << "the shared traces are not here";
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(shared)) {
    const std::string path = entry.path().string();
    const bool packed = path.ends_with(".json.gz");
    if (!packed && !path.ends_with(".json")) continue;
    const std::string text = packed ? unpacked(path) : testing::file_content(path);
    if (text.find("\"ph\"") == std::string::npos) continue;
    expect_agreement(path, text);
    ++files;
  }
  EXPECT_GT(files, 50U);
}

TEST(TwoReaders, PiecesOfAnySizeGiveTheSameStore) {
  const std::string text = unpacked(testing::golden_path("pageable_h2d.after.json.gz"));
  const Result<TraceStore> whole = import_with(text, {});
  ASSERT_TRUE(whole.ok());
  for (std::size_t bytes = 64; bytes < 400'000; bytes = bytes * 3 + 7) {
    const Result<TraceStore> pieces = import_with(text, {.threads = 2, .chunk_bytes = bytes});
    ASSERT_TRUE(pieces.ok());
    EXPECT_EQ(difference(*whole, *pieces), "") << bytes;
  }
}

TEST(TwoReaders, AnEventInsideAStringOrAListIsNoEvent) {
  std::string text = R"({"schemaVersion":1,"traceEvents":[)";
  for (int i = 0; i < 200; ++i) {
    text += R"({"ph":"X","cat":"cpu_op","name":"},{\"ph\":\"X\"","pid":1,"tid":1,"ts":)" + std::to_string(i) +
            R"(,"dur":1,"args":{"Input Dims":[{"ph":"X"},{"ph":"X","ts":1},{"name":"x"}],"note":"},{"}},)";
  }
  text.back() = ']';
  text += "}";
  const Result<TraceStore> whole = import_with(text, {});
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->slices.size(), 200U);
  for (const std::size_t bytes : {100U, 333U, 1000U, 5000U}) {
    const Result<TraceStore> pieces = import_with(text, {.threads = 2, .chunk_bytes = bytes});
    ASSERT_TRUE(pieces.ok());
    EXPECT_EQ(difference(*whole, *pieces), "") << bytes;
  }
}

}  // namespace
}  // namespace accel
