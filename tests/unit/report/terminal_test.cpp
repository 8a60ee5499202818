#include <gtest/gtest.h>

#include "golden_file.h"
#include "report/plain_text.h"
#include "report/writer.h"
#include "sample_document.h"

namespace accel::report {
namespace {

std::string terminal(const Document& document, WriterOptions options = {}) {
  return find_writer("terminal")->write(document, options);
}

TEST(TerminalWriter, SaysWhatMattersInAFewLines) {
  WriterOptions options;
  options.files = {"out/report.json", "out/report.md"};
  expect_golden("terminal.txt", terminal(sample_document(), options));
}

TEST(TerminalWriter, SaysItInChinese) {
  WriterOptions options;
  options.language = Language::chinese;
  expect_golden("terminal.zh.txt", terminal(sample_document(), options));
}

TEST(TerminalWriter, IsPlainUnlessColoursAreAskedFor) {
  EXPECT_EQ(terminal(sample_document()).find('\x1b'), std::string::npos);
  WriterOptions colour;
  colour.colour = true;
  EXPECT_NE(terminal(sample_document(), colour).find("\x1b[31m"), std::string::npos);
}

TEST(TerminalWriter, ColoursChangeNothingButTheColour) {
  WriterOptions colour;
  colour.colour = true;
  std::string text = terminal(sample_document(), colour);
  for (std::size_t at = 0; (at = text.find("\x1b[", at)) != std::string::npos;)
    text.erase(at, text.find('m', at) - at + 1);
  EXPECT_EQ(text, terminal(sample_document()));
}

TEST(TerminalWriter, ControlSequencesOfATraceAreShown) {
  const std::string text = terminal(sample_document());
  EXPECT_NE(text.find("\\x1b[2Jcuda"), std::string::npos);
}

TEST(TerminalWriter, LinesKeepToTheWidthWherevertheyCanBreak) {
  WriterOptions narrow;
  narrow.columns = 60;
  const std::string text = terminal(sample_document(), narrow);
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = text.find('\n', from);
    EXPECT_LE(display_width(std::string_view(text).substr(from, end - from)), 72u) << text.substr(from, end - from);
    from = end + 1;
  }
}

TEST(TerminalWriter, AnEmptyReportIsStillAReport) {
  Document document;
  document.verdict.sentence = "The file holds no events.";
  const std::string text = terminal(document);
  EXPECT_NE(text.find("The file holds no events."), std::string::npos);
  EXPECT_EQ(text.find("Plan"), std::string::npos);
}

}  // namespace
}  // namespace accel::report
