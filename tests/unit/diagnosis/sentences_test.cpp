#include "diagnosis/sentences/sentences.h"

#include <gtest/gtest.h>

#include <string>

namespace accel {
namespace {

TEST(Sentences, FiguresAndUnitsStandWhereTheyBelongInChinese) {
  EXPECT_EQ(chinese_sentence("The device waits 106 ms a step for Python in record.py(180): extra (87 %)"),
            "设备每步等待 Python 代码 record.py(180): extra 共 106 ms（87 %）");
  EXPECT_EQ(chinese_sentence("first such iteration: number"), "首个此类迭代的编号");
  EXPECT_EQ(chinese_sentence("cudaMalloc per step"), "每步的 cudaMalloc");
}

TEST(Sentences, APieceIsTranslatedToo) {
  EXPECT_EQ(chinese_sentence("waits per step: aten::item reads a device value on the host (.item(), float(), if "
                             "tensor:)"),
            "每步等待次数：aten::item 在主机上读取设备上的值（.item()、float()、if tensor:）");
  EXPECT_EQ(chinese_sentence("Do not wait for the device at train.py:12"), "不要等待设备（位于 train.py:12）");
  EXPECT_EQ(chinese_sentence("Do not wait for the device"), "不要等待设备");
}

TEST(Sentences, WhatNoTemplateMadeStaysAsItIs) {
  EXPECT_FALSE(chinese_sentence("something else"));
  EXPECT_FALSE(chinese_sentence(""));
  EXPECT_FALSE(chinese_sentence("The device waits long a step for the data loader (5 %)"));
}

TEST(Sentences, ANameThatHoldsWordsOfATemplateDoesNotChangeWhatIsSaid) {
  EXPECT_EQ(chinese_sentence("of it in a on the CPU, longest 3 ms on the CPU, longest 5 ms"),
            "其中 CPU 上的 a on the CPU, longest 3 ms，最长 5 ms");
  const auto two_readings = chinese_sentence("share of the roof at a (b) (c)");
  EXPECT_FALSE(two_readings) << *two_readings;
}

TEST(Sentences, LongTextOfATraceEndsTheSearch) {
  std::string text = "of it ";
  while (text.size() < 3900) text += "collating in , 5 ms of it per step: ";
  EXPECT_LT(chinese_sentence(text).value_or("").size(), 2 * text.size());
  EXPECT_FALSE(chinese_sentence(std::string(1'000'000, '{')));
}

}  // namespace
}  // namespace accel
