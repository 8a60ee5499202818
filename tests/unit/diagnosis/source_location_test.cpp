#include "diagnosis/source_location.h"

#include <gtest/gtest.h>

#include "diagnosis/wording.h"

namespace accel {
namespace {

TEST(SourceLocation, FramesHoldPathLineAndFunction) {
  const auto line = parse_frame("/home/me/train.py(42): train_step");
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->file, "/home/me/train.py");
  EXPECT_EQ(line->line, 42);
  EXPECT_EQ(line->function, "train_step");
}

TEST(SourceLocation, PathsMayHoldParentheses) {
  const auto line = parse_frame("/data (old)/run(2).py(7): <lambda>");
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->file, "/data (old)/run(2).py");
  EXPECT_EQ(line->line, 7);
}

TEST(SourceLocation, BuiltInsAndModulesHaveNoLine) {
  for (const std::string_view frame : {"<built-in method item of Tensor object at 0x7f>", "nn.Module: Linear_0", "",
                                       "(3): f", "f(x): g", "a.py(99999999999999999999): f"}) {
    EXPECT_FALSE(parse_frame(frame).has_value()) << frame;
  }
}

TEST(SourceLocation, TheFrameworksOwnFilesAreNotTheUsers) {
  EXPECT_TRUE(is_library_frame("torch/nn/modules/module.py(1500): _call_impl"));
  EXPECT_TRUE(is_library_frame("/usr/lib/python3.11/threading.py(3): run"));
  EXPECT_TRUE(is_library_frame("/opt/venv/lib/site-packages/x/y.py(3): run"));
  EXPECT_FALSE(is_library_frame("mytorch/train.py(3): run"));
}

TEST(Wording, FiguresHaveThreeDigits) {
  EXPECT_EQ(ms_text(83'123'456), "83.1 ms");
  EXPECT_EQ(ms_text(1'347'117'000), "1347 ms");
  EXPECT_EQ(ms_text(2'072'000), "2.07 ms");
  EXPECT_EQ(ms_text(7'400), "7.40 us");
  EXPECT_EQ(ms_text(0), "0.00 ms");
  EXPECT_EQ(percent_text(0.724), "72 %");
  EXPECT_EQ(percent_text(0.034), "3.4 %");
  EXPECT_EQ(bytes_text(805e6), "805 MB");
  EXPECT_EQ(bytes_text(999), "999 bytes");
  EXPECT_EQ(count_text(741), "741");
  EXPECT_EQ(count_text(0.25), "0.25");
  EXPECT_EQ(short_name("abcdefghij", 8), "abcde...");
}

}  // namespace
}  // namespace accel
