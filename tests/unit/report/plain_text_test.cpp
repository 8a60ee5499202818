#include "report/plain_text.h"

#include <gtest/gtest.h>

namespace accel::report {
namespace {

TEST(PlainText, BytesThatAreNotUtf8BecomeTheReplacementCharacter) {
  EXPECT_EQ(valid_utf8("a\xff\xfe\x80z"), "a\uFFFD\uFFFD\uFFFDz");
  EXPECT_EQ(valid_utf8("cut \xe4\xbd"), "cut \uFFFD");                    // a character cut short is one
  EXPECT_EQ(valid_utf8("\xc0\xaf"), "\uFFFD\uFFFD");                      // overlong
  EXPECT_EQ(valid_utf8("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");            // surrogate
  EXPECT_EQ(valid_utf8("\xf4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");  // beyond the last character
}

TEST(PlainText, GoodUtf8StaysAsItIs) { EXPECT_EQ(valid_utf8("aten::add 你好 é 😀"), "aten::add 你好 é 😀"); }

TEST(PlainText, ControlSequencesAreShownAndNotSent) {
  EXPECT_EQ(visible_text("\x1b[31mred\x07"), "\\x1b[31mred\\x07");
  EXPECT_EQ(visible_text("a\nb\tc\r"), "a\\nb\\tc\\r");
  EXPECT_EQ(visible_text(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(visible_text("\xc2\x9b"
                         "31m"),
            "\\x9b31m");  // the one-byte control sequence introducer, as UTF-8
}

TEST(PlainText, CharactersThatTurnOrHideTextAreShown) {
  EXPECT_EQ(visible_text("abc\u202Edef"), "abc\\u{202e}def");
  EXPECT_EQ(visible_text("a\u200Bb"), "a\\u{200b}b");
}

TEST(PlainText, NothingOfAStringIsMarkdown) {
  EXPECT_EQ(markdown_text("</script><img onerror=x>"), "&lt;/script&gt;&lt;img onerror=x&gt;");
  EXPECT_EQ(markdown_text("*a* _b_ `c` [d](e) |f|"), "\\*a\\* \\_b\\_ \\`c\\` \\[d\\](e) \\|f\\|");
  EXPECT_EQ(markdown_text("# no heading"), "\\# no heading");
  EXPECT_EQ(markdown_text("1. no list"), "1\\. no list");
  EXPECT_EQ(markdown_text("- no list"), "\\- no list");
  EXPECT_EQ(markdown_text("https://a.b"), "https\\://a.b");
  EXPECT_EQ(markdown_text("17.9 ms, 0.1 %"), "17.9 ms, 0.1 %");
}

TEST(PlainText, ACodeSpanHoldsBackticksAndBars) {
  EXPECT_EQ(markdown_code("gemm<float>"), "`gemm<float>`");
  EXPECT_EQ(markdown_code("a`b``c"), "```a`b``c```");
  EXPECT_EQ(markdown_code("`a`"), "`` `a` ``");
  EXPECT_EQ(markdown_code("a|b"), "`a\\|b`");
  EXPECT_EQ(markdown_code(""), "");
}

TEST(PlainText, WidthCountsColumns) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("你好"), 4u);
  EXPECT_EQ(display_width("e\u0301"), 1u);
}

TEST(PlainText, LongNamesLoseTheirMiddle) {
  EXPECT_EQ(shortened("short", 10), "short");
  EXPECT_EQ(shortened("abcdefghijklmnopqrstuvwxyz", 12), "abcdef...xyz");
  EXPECT_LE(display_width(shortened("你好你好你好你好你好", 11)), 11u);
}

TEST(PlainText, LinesBreakAtBlanks) {
  EXPECT_EQ(wrapped("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrapped("averylongword and more", 8), (std::vector<std::string>{"averylongword", "and more"}));
  EXPECT_EQ(wrapped("takes 12 ms.", 9), (std::vector<std::string>{"takes", "12 ms."}));
  EXPECT_EQ(wrapped("takes 12 msteps", 9), (std::vector<std::string>{"takes 12", "msteps"}));
  EXPECT_TRUE(wrapped("", 10).empty());
}

}  // namespace
}  // namespace accel::report
