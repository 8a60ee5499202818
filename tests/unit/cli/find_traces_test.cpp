#include "cli/find_traces.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace accel::cli {
namespace {

namespace fs = std::filesystem;

class FindTracesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "accel-find-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string make(const std::string& name) const {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "x";
    return path.string();
  }

  fs::path folder_;
};

TEST(ReportName, IsTheFileWithoutHowItIsStored) {
  EXPECT_EQ(report_name("a/launch_bound.before.json.gz"), "launch_bound.before");
  EXPECT_EQ(report_name("host_1.123.pt.trace.json"), "host_1.123");
  EXPECT_EQ(report_name("run.tar.gz"), "run");
  EXPECT_EQ(report_name("-"), "stdin");
  EXPECT_EQ(report_name(".json"), ".json");
}

TEST_F(FindTracesTest, AFolderGivesItsTracesInTheOrderOfNames) {
  make("b.json");
  make("a.json.gz");
  make("notes.txt");
  make("sub/c.json");
  make(".hidden/d.json");
  const auto found = find_traces({folder_.string()});
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 3u);
  EXPECT_EQ((*found)[0].name, "a");
  EXPECT_EQ((*found)[1].name, "b");
  EXPECT_EQ((*found)[2].name, "c");
  EXPECT_FALSE((*found)[0].asked_for);
}

TEST_F(FindTracesTest, TracesOfOneNameGetReportsOfTheirOwn) {
  const auto found = find_traces({make("x/rank0.json"), make("y/rank0.json")});
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)[0].name, "rank0");
  EXPECT_EQ((*found)[1].name, "rank0-2");
  EXPECT_TRUE((*found)[0].asked_for);
}

TEST_F(FindTracesTest, AFileIsTakenWhateverItsName) {
  const auto found = find_traces({make("odd.name")});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->size(), 1u);
}

TEST_F(FindTracesTest, WhatIsNotThereIsNamed) {
  const auto missing = find_traces({(folder_ / "no.json").string()});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  const auto empty = find_traces({folder_.string()});
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().code, ErrorCode::not_a_trace);
}

}  // namespace
}  // namespace accel::cli
