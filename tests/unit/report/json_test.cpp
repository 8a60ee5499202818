#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "golden_file.h"
#include "report/writer.h"
#include "sample_document.h"

namespace accel::report {
namespace {

std::string json(const Document& document) { return find_writer("json")->write(document, {}); }

TEST(JsonWriter, HasEveryKeyInTheOrderOfTheDesign) { expect_golden("report.json", json(sample_document())); }

TEST(JsonWriter, AnEmptyReportHasTheSameTopLevelKeys) {
  const auto full = nlohmann::ordered_json::parse(json(sample_document()));
  const auto empty = nlohmann::ordered_json::parse(json(Document{}));
  std::vector<std::string> full_keys;
  std::vector<std::string> empty_keys;
  for (const auto& item : full.items()) full_keys.push_back(item.key());
  for (const auto& item : empty.items()) empty_keys.push_back(item.key());
  EXPECT_EQ(full_keys, empty_keys);
}

TEST(JsonWriter, NaNAndInfinityNeverReachTheFile) {
  Document document = sample_document();
  document.step_time.mean_ms = std::numeric_limits<double>::quiet_NaN();
  document.step_time.p50_ms = std::numeric_limits<double>::infinity();
  const auto parsed = nlohmann::json::parse(json(document));
  EXPECT_TRUE(parsed["step_time"]["mean_ms"].is_null());
  EXPECT_TRUE(parsed["step_time"]["p50_ms"].is_null());
}

TEST(JsonWriter, HostileStringsComeBackAsTheyWere) {
  const auto parsed = nlohmann::json::parse(json(sample_document()));
  EXPECT_EQ(parsed["findings"][0]["where"][0]["name"], "</script><img src=x onerror=alert(1)>");
  EXPECT_EQ(parsed["findings"][0]["where"][1]["name"], "\x1b[2Jcuda");
}

}  // namespace
}  // namespace accel::report
