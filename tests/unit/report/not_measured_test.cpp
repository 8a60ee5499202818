#include "report/not_measured.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sample_document.h"

namespace accel::report {
namespace {

bool contains(const std::vector<std::string>& paths, std::string_view path) {
  return std::find(paths.begin(), paths.end(), path) != paths.end();
}

TEST(NotMeasured, NamesWhatIsNullAndNothingElse) {
  const auto paths = unmeasured_paths(sample_document());
  EXPECT_TRUE(contains(paths, "utilisation.mfu"));
  EXPECT_TRUE(contains(paths, "operators[].flops"));
  EXPECT_TRUE(contains(paths, "findings[].where[].line"));
  EXPECT_TRUE(contains(paths, "memory.peak_bytes"));
  EXPECT_TRUE(contains(paths, "topology"));
  EXPECT_FALSE(contains(paths, "utilisation.device_busy"));
  EXPECT_FALSE(contains(paths, "step_time.mean_ms"));
}

TEST(NotMeasured, EachPathOnce) {
  auto paths = unmeasured_paths(sample_document());
  const std::size_t count = paths.size();
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  EXPECT_EQ(paths.size(), count);
}

TEST(NotMeasured, TheLongestPathGivesTheReason) {
  const auto list =
      explain_unmeasured(Document{}, {{"step_time", "no step"}, {"step_time.p95_ms", "too few"}, {"step", "wrong"}});
  const auto reason = [&](std::string_view path) {
    const auto at =
        std::find_if(list.begin(), list.end(), [&](const NotMeasured& entry) { return entry.path == path; });
    return at == list.end() ? std::string() : at->reason;
  };
  EXPECT_EQ(reason("step_time.mean_ms"), "no step");
  EXPECT_EQ(reason("step_time.p95_ms"), "too few");
  EXPECT_EQ(reason("utilisation.mfu"), "not in this capture");
}

}  // namespace
}  // namespace accel::report
