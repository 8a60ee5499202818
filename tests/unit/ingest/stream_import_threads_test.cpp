#include <gtest/gtest.h>

#include "base/progress.h"
#include "unit/ingest/stores.h"

namespace accel {
namespace {

using testing::difference;
using testing::import_with;

TEST(StreamImport, TheStoreDoesNotDependOnTheNumberOfThreads) {
  const std::string text = testing::unpacked(testing::golden_path("pageable_h2d.before.json.gz"));
  const Result<TraceStore> one = import_with(text, {.threads = 1, .chunk_bytes = 10'000});
  ASSERT_TRUE(one.ok());
  for (const unsigned threads : {2U, 3U, 8U}) {
    const Result<TraceStore> many = import_with(text, {.threads = threads, .chunk_bytes = 10'000});
    ASSERT_TRUE(many.ok());
    EXPECT_EQ(difference(*one, *many), "") << threads;
  }
}

TEST(StreamImport, DamageIsHandledInTheOrderOfTheFile) {
  std::string text = testing::unpacked(testing::golden_path("pageable_h2d.before.json.gz"));
  for (std::size_t at = 5000; at < text.size(); at += 7919) text[at] = '\x01';
  const Result<TraceStore> one = import_with(text, {.threads = 1, .chunk_bytes = 10'000});
  const Result<TraceStore> many = import_with(text, {.threads = 4, .chunk_bytes = 10'000});
  ASSERT_TRUE(one.ok() && many.ok());
  EXPECT_EQ(difference(*one, *many), "");
}

class StopAfter final : public Progress {
 public:
  explicit StopAfter(int calls) : left_(calls) {}
  bool report(std::string_view, std::uint64_t, std::uint64_t) override { return left_-- <= 0; }

 private:
  int left_;
};

TEST(StreamImport, CanBeInterrupted) {
  const std::string text = testing::unpacked(testing::golden_path("pageable_h2d.before.json.gz"));
  StopAfter stop(3);
  const Result<TraceStore> store = import_with(text, {.threads = 2, .progress = &stop, .chunk_bytes = 10'000});
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().code, ErrorCode::cancelled);
}

}  // namespace
}  // namespace accel
