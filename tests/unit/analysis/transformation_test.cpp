#include "analysis/transformation.h"

#include <gtest/gtest.h>

namespace accel {
namespace {

TEST(Transformations, AreReadFromTextAndWrittenBack) {
  const auto all = parse_transformations(" no_sync ; scale(aten::mm|bmm, 0.5);no_host(collate (fn), x)");
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 3U);
  EXPECT_EQ((*all)[0].kind, TransformationKind::no_sync);
  EXPECT_EQ((*all)[1].patterns, (std::vector<std::string>{"aten::mm", "bmm"}));
  EXPECT_EQ((*all)[1].share.expected, 0.5);
  EXPECT_EQ((*all)[2].patterns, (std::vector<std::string>{"collate (fn), x"}));
  EXPECT_EQ(to_string(*all), "no_sync;scale(aten::mm|bmm, 0.5);no_host(collate (fn), x)");
}

TEST(Transformations, EveryExampleIsReadable) {
  for (const TransformationDescriptor& kind : transformation_kinds()) {
    const auto one = parse_transformations(kind.example);
    ASSERT_TRUE(one.ok()) << kind.example;
    EXPECT_EQ(one->front().kind, kind.kind);
    EXPECT_EQ(&describe(kind.kind), &kind);
  }
}

TEST(Transformations, AMistakeNamesThePartAndListsWhatThereIs) {
  for (const char* text : {"", ";", "nosync", "no_sync(", "data_ready(x)", "no_host", "scale(mm)", "scale(mm, fast)",
                           "scale(mm, -1)", "scale(mm, nan)", "scale(, 0.5)", "scale(mm, 1e9)", "no_sync;bogus"}) {
    const auto all = parse_transformations(text);
    ASSERT_FALSE(all.ok()) << text;
    EXPECT_EQ(all.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(all.error().message.find("scale(NAME, FACTOR)"), std::string::npos);
  }
  EXPECT_NE(parse_transformations("no_sync;bogus").error().message.find("'bogus'"), std::string::npos);
}

}  // namespace
}  // namespace accel
