// The results of the analyses do not depend on the number of threads. Also runs under the thread sanitizer.
#include "analysis/idle_attribution.h"
#include "analysis/operator_table.h"
#include "analysis/time_breakdown.h"
#include "unit/analysis/small_trace.h"

namespace accel {
namespace {

TEST(AnalysesOnThreads, GiveTheSameForAnyNumberOfThem) {
  SmallTrace trace;
  for (int k = 0; k < 20; ++k) {
    trace.step(k, k * 1000, 1000)
        .op("aten::mm", k * 1000 + 10, 300)
        .launched("gemm", k * 1000 + 50, k * 1000 + 90, 400, k + 1);
    trace.kernel("lost", k * 1000 + 600, 20, 1000 + k, 8);
  }
  const TraceStore store = trace.store();
  AnalysisOptions one;
  one.threads = 1;
  const AnalysisResults expected = analyse(store, one);
  for (const unsigned threads : {2U, 8U}) {
    AnalysisOptions options;
    options.threads = threads;
    const AnalysisResults results = analyse(store, options);
    EXPECT_EQ(results.idle_attribution->devices[0].total, expected.idle_attribution->devices[0].total);
    EXPECT_EQ(results.operator_table->by_name.size(), expected.operator_table->by_name.size());
    EXPECT_EQ(results.time_breakdown->devices[0].measured.idle_ns,
              expected.time_breakdown->devices[0].measured.idle_ns);
    ASSERT_EQ(results.notes.notes().size(), expected.notes.notes().size());
    for (std::size_t i = 0; i < results.notes.notes().size(); ++i) {
      EXPECT_EQ(results.notes.notes()[i].code, expected.notes.notes()[i].code);
      EXPECT_EQ(results.notes.notes()[i].where, expected.notes.notes()[i].where);
    }
  }
}

}  // namespace
}  // namespace accel
