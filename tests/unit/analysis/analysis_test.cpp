#include "analysis/analysis.h"

#include <set>

#include "analysis/step_segmentation.h"
#include "base/progress.h"
#include "unit/analysis/small_trace.h"

namespace accel {
namespace {

TEST(Analyses, EveryAnalysisComesAfterThoseThatItNeeds) {
  std::set<std::string_view> earlier;
  for (const AnalysisDescriptor& analysis : analyses()) {
    for (const std::string_view need : analysis.needs)
      EXPECT_EQ(earlier.count(need), 1U) << analysis.id << " needs " << need;
    EXPECT_TRUE(earlier.insert(analysis.id).second) << analysis.id << " is listed twice";
    EXPECT_FALSE(analysis.title.empty() || analysis.title_zh.empty() || analysis.prose.empty()) << analysis.id;
  }
}

TEST(Analyses, AnEmptyTraceHasEveryResult) {
  SmallTrace trace;
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
#define FRAMEWORK(name)
#define ANALYSIS(name, Type) EXPECT_NE(results.name, nullptr) << #name;
#include "analysis/catalog.def"
#undef ANALYSIS
#undef FRAMEWORK
  EXPECT_EQ(results.step_segmentation->steps.size(), 0U);
}

class StopAtOnce : public Progress {
 public:
  bool report(std::string_view, std::uint64_t, std::uint64_t) override { return true; }
};

TEST(Analyses, AskedToStopTheyStop) {
  SmallTrace trace;
  trace.step(1, 0, 100);
  const TraceStore store = trace.store();
  StopAtOnce stop;
  AnalysisOptions options;
  options.progress = &stop;
  const Result<AnalysisResults> results = run_analyses(store, options);
  ASSERT_FALSE(results.ok());
  EXPECT_EQ(results.error().code, ErrorCode::cancelled);
}

}  // namespace
}  // namespace accel
