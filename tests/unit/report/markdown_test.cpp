#include <gtest/gtest.h>

#include "golden_file.h"
#include "report/writer.h"
#include "sample_document.h"

namespace accel::report {
namespace {

std::string markdown(const Document& document) { return find_writer("md")->write(document, {}); }

TEST(MarkdownWriter, TellsTheWholeStory) { expect_golden("report.md", markdown(sample_document())); }

TEST(MarkdownWriter, StringsOfATraceAreNoMarkup) {
  Document document = sample_document();
  document.findings[0].title = "<img src=x onerror=alert(1)> [click](javascript:alert(1)) ![](http://evil/x.png)";
  document.findings[0].action.command = "```\n</details><script>";
  document.operators[0].name = "a | b `c` \n# heading";
  const std::string text = markdown(document);
  EXPECT_EQ(text.find("<img src=x onerror=alert(1)> ["), std::string::npos);
  EXPECT_EQ(text.find("[click]("), std::string::npos);
  EXPECT_EQ(text.find("http://evil"), std::string::npos);
  EXPECT_EQ(text.find("\n# heading"), std::string::npos);
  // The code block's own fence is longer than any in the code.
  EXPECT_NE(text.find("````\n```\n</details><script>\n````"), std::string::npos);
}

}  // namespace
}  // namespace accel::report
