#include "report/summary_text.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "sample_document.h"

namespace accel::report {
namespace {

TEST(SummaryText, DurationsHaveThreeDigitsAndAUnitThatFits) {
  EXPECT_EQ(duration_text(17.882), "17.9 ms");
  EXPECT_EQ(duration_text(2.127), "2.13 ms");
  EXPECT_EQ(duration_text(0.753), "0.75 ms");
  EXPECT_EQ(duration_text(0.0753), "75.3 us");
  EXPECT_EQ(duration_text(0.0027), "2.70 us");
  EXPECT_EQ(duration_text(0.000736), "736 ns");
  EXPECT_EQ(duration_text(142.3), "142 ms");
  EXPECT_EQ(duration_text(12'345), "12.3 s");
  EXPECT_EQ(duration_text(0), "0 ms");
}

TEST(SummaryText, SharesSaySoWhenTheyAreSmall) {
  EXPECT_EQ(percent_text(0.884), "88 %");
  EXPECT_EQ(percent_text(0.054), "5.4 %");
  EXPECT_EQ(percent_text(0.004), "0.4 %");
  EXPECT_EQ(percent_text(0.0001), "<0.1 %");
  EXPECT_EQ(percent_text(0), "0 %");
  EXPECT_EQ(percent_text(0.9999), ">99 %");
  EXPECT_EQ(percent_text(1), "100 %");
}

TEST(SummaryText, CountsAndBytesAreGrouped) {
  EXPECT_EQ(count_text(7), "7");
  EXPECT_EQ(count_text(1'204), "1,204");
  EXPECT_EQ(count_text(1'234'567), "1,234,567");
  EXPECT_EQ(bytes_text(805'306'368), "805 MB");
  EXPECT_EQ(bytes_text(12), "12 B");
}

TEST(SummaryText, EvidenceCarriesItsUnit) {
  EXPECT_EQ(evidence_text({"launches per step", 741.0, "count", {}}), "launches per step: 741");
  EXPECT_EQ(evidence_text({"copy rate", 7.8, "GB/s", {}}), "copy rate: 7.80 GB/s");
  EXPECT_EQ(evidence_text({"share", 12.0, "%", {}}), "share: 12 %");
  EXPECT_EQ(evidence_text({"no figure", {}, "ms", {}}), "no figure");
}

TEST(SummaryText, HowSureIsSaidInWords) {
  EXPECT_EQ(sureness(0.95, Language::english), "sure");
  EXPECT_EQ(sureness(0.6, Language::english), "likely");
  EXPECT_EQ(sureness(0.1, Language::english), "a guess");
}

TEST(SummaryText, AGainIsABandOrABoundOrNothing) {
  const Document document = sample_document();
  EXPECT_EQ(gain_text(document.findings[0].gain, document.step_time, Language::english),
            "8.00 ms -> 2.00 ms (2.00 to 5.00 ms), 4.0x, estimated from a model");
  Gain bound;
  bound.max_possible_speedup = 1.4;
  EXPECT_EQ(gain_text(bound, document.step_time, Language::english), "at most 1.4x: if all the time at stake vanished");
  EXPECT_EQ(gain_text({}, document.step_time, Language::english), "gain not estimated");
}

TEST(SummaryText, PrintedPartsAddUpToThePrintedWhole) {
  Document document = sample_document();
  for (int i = 0; i < 200; ++i) {
    const double x = i * 0.137;
    document.time_breakdown = sample_parts(1.049 + x, 0.0499, 3.3333 + 2 * x, 0.6666);
    const PartTable table = part_table(document, Language::english);
    double parts = 0;
    double causes = 0;
    double idle = 0;
    for (const PartRow& row : table.rows) {
      const double value = std::strtod(row.measured.c_str(), nullptr);
      (row.is_cause ? causes : parts) += value;
      if (row.glyph == '.') idle = value;
    }
    EXPECT_NEAR(parts, std::strtod(table.whole.measured.c_str(), nullptr), 1e-9) << i;
    EXPECT_NEAR(causes, idle, 1e-9) << i;
  }
}

TEST(SummaryText, TheBarFillsItsWidth) {
  const TimeParts parts = sample_parts(1, 1, 1, 0);
  for (std::size_t columns = 1; columns < 80; ++columns) EXPECT_EQ(bar_of(parts, columns).size(), columns);
  EXPECT_EQ(bar_of(sample_parts(3, 0, 1, 0), 8), "######..");
  EXPECT_EQ(bar_of(TimeParts{}, 8), "");
}

}  // namespace
}  // namespace accel::report
