#include "base/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace accel {
namespace {

namespace fs = std::filesystem;

class AtomicFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "accel-atomic-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string content(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) names.insert(entry.path().filename().string());
    return names;
  }

  fs::path folder_;
};

TEST_F(AtomicFileTest, TheFileTakesItsNameOnlyWhenItIsWhole) {
  auto file = AtomicFile::create(folder_ / "a.txt");
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write("one "));
  ASSERT_TRUE(file->write("two"));
  EXPECT_FALSE(fs::exists(folder_ / "a.txt"));
  ASSERT_TRUE(file->flush());
  EXPECT_FALSE(fs::exists(folder_ / "a.txt"));
  ASSERT_TRUE(file->publish());
  EXPECT_EQ(content(folder_ / "a.txt"), "one two");
  EXPECT_EQ(names(), std::set<std::string>{"a.txt"});
}

TEST_F(AtomicFileTest, AnAbandonedFileLeavesNothingAndTheOldOneAsItWas) {
  std::ofstream(folder_ / "a.txt") << "old";
  {
    auto file = AtomicFile::create(folder_ / "a.txt");
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write("new"));
  }
  EXPECT_EQ(content(folder_ / "a.txt"), "old");
  EXPECT_EQ(names(), std::set<std::string>{"a.txt"});
}

TEST_F(AtomicFileTest, MissingFoldersAreMade) {
  const fs::path path = folder_ / "x" / "y" / "a.txt";
  const OutputFile files[] = {{path, "text"}};
  ASSERT_TRUE(write_files(files, {}));
  EXPECT_EQ(content(path), "text");
}

TEST_F(AtomicFileTest, AllFilesOrNone) {
  fs::create_directory(folder_ / "taken");  // a file cannot take the name of a folder
  std::ofstream(folder_ / "taken" / "inside") << "x";
  const OutputFile files[] = {{folder_ / "new" / "a.txt", "a"}, {folder_ / "taken" / "inside" / "b.txt", "b"}};
  const auto written = write_files(files, {});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::io);
  EXPECT_EQ(names(), (std::set<std::string>{"taken", "inside"}));
}

TEST_F(AtomicFileTest, AnInterruptBeforeTheNamesAreTakenLeavesNothing) {
  const OutputFile files[] = {{folder_ / "new" / "a.txt", "a"}};
  const auto written = write_files(files, [] { return true; });
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::cancelled);
  EXPECT_TRUE(names().empty());
}

TEST_F(AtomicFileTest, AFullDiskLeavesNothing) {
  std::ofstream(folder_ / "a.txt") << "old";
  // A limit on the size of files stands for the full disk.
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 1000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string large(100'000, 'x');
  const OutputFile files[] = {{folder_ / "a.txt", large}};
  const auto written = write_files(files, {});
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_DFL);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::io);
  EXPECT_EQ(content(folder_ / "a.txt"), "old");
  EXPECT_EQ(names(), std::set<std::string>{"a.txt"});
}

}  // namespace
}  // namespace accel
