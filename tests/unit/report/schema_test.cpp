#include "report/schema.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analysis/idle_cause.h"
#include "diagnosis/diagnosis.h"
#include "diagnosis/rule.h"
#include "report/document.h"
#include "trace/notes.h"

namespace accel::report {
namespace {

using Json = nlohmann::ordered_json;

TEST(Schema, EnumsAreTheCatalogues) {
  const Json schema = Json::parse(json_schema());
  const Json& rule_enum = schema["properties"]["findings"]["items"]["properties"]["rule"]["enum"];
  ASSERT_EQ(rule_enum.size(), rules().size());
  for (std::size_t i = 0; i < rules().size(); ++i) EXPECT_EQ(rule_enum[i].get<std::string>(), rules()[i].id);
  const Json& code_enum = schema["properties"]["notes"]["items"]["properties"]["code"]["enum"];
  ASSERT_EQ(code_enum.size(), note_catalog().size());
  EXPECT_EQ(code_enum[0].get<std::string>(), note_catalog()[0].id);
}

TEST(Schema, EveryKeyIsRequiredAndExplained) {
  const Json schema = Json::parse(json_schema());
  EXPECT_EQ(schema["properties"].size(), schema["required"].size());
  for (const auto& item : schema["properties"].items())
    EXPECT_FALSE(item.value()["description"].get<std::string>().empty()) << item.key();
}

TEST(Schema, IdleCausesAreThoseOfTheAnalysis) {
  IdleCauses causes;
  std::size_t i = 0;
  IdleCauses::fields(causes, [&](std::string_view key, double&, std::string_view) {
    ASSERT_LT(i, kIdleCauseCount);
    EXPECT_EQ(key, to_string(static_cast<IdleCause>(i++)));
  });
  EXPECT_EQ(i, kIdleCauseCount);
}

TEST(Schema, WordsOfTheEnumsHaveNoHoles) {
  for (const Words* words :
       {&bound_by_words(), &step_classes(), &step_sources(), &paced_by_words(), &note_severities()}) {
    for (const std::string_view word : *words) EXPECT_FALSE(word.empty());
  }
  EXPECT_EQ(bound_by_words().size(), 8u);
  EXPECT_EQ(step_classes(), (Words{"train", "evaluation", "checkpoint", "accumulation", "warmup"}));
  EXPECT_EQ(paced_by_words().back(), "device");
  EXPECT_EQ(gain_bases()[static_cast<std::size_t>(GainBasis::replay)], "replay");
  EXPECT_EQ(finding_severities()[static_cast<std::size_t>(FindingSeverity::critical)], "critical");
}

}  // namespace
}  // namespace accel::report
