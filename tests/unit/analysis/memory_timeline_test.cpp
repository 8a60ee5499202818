#include "analysis/memory_timeline.h"

#include <fstream>

#include "ingest/importer.h"
#include "small_trace.h"

namespace accel {
namespace {

constexpr std::int64_t kMB = 1'000'000;

// A trace with the events of an allocator that keeps its own totals.
class MemoryTrace : public SmallTrace {
 public:
  explicit MemoryTrace(std::int64_t held, std::int64_t reserved) : allocated_(held), reserved_(reserved) {}

  MemoryTrace& alloc(std::int64_t time, std::int64_t address, std::int64_t bytes, int thread = kMain) {
    return event(time, address, bytes, thread);
  }
  MemoryTrace& release(std::int64_t time, std::int64_t address, std::int64_t bytes, int thread = kMain) {
    return event(time, address, -bytes, thread);
  }
  MemoryTrace& reserve(std::int64_t bytes) {
    reserved_ = bytes;
    return *this;
  }
  bool totals = true;

 private:
  MemoryTrace& event(std::int64_t time, std::int64_t address, std::int64_t bytes, int thread) {
    allocated_ += bytes;
    MemoryEventRow row;
    row.time_ns = time * 1000;
    row.address = address;
    row.bytes = bytes;
    row.total_allocated = totals ? allocated_ : kNotRecorded;
    row.total_reserved = totals ? reserved_ : kNotRecorded;
    row.thread = batch().add_thread(1, thread, StringId(), StringId());
    row.device_type = 1;
    row.device = 0;
    batch().memory_events.push(row);
    return *this;
  }

  std::int64_t allocated_;
  std::int64_t reserved_;
};

CategoryMemory part(const DeviceMemory& device, MemoryCategory category) {
  return device.peak.categories->at(static_cast<std::size_t>(category));
}

TEST(MemoryTimeline, ABlockIsNamedByWhereItBeginsAndEnds) {
  constexpr int kAutograd = 2;
  MemoryTrace trace(100 * kMB, 500 * kMB);
  trace.step(0, 0, 1000);
  trace.op("aten::mm", 10, 50);
  trace.alloc(20, 1, 40 * kMB);  // activation
  trace.alloc(30, 2, 8 * kMB);   // scratch, given back at once
  trace.release(40, 2, 8 * kMB);
  trace.op("autograd::engine::evaluate_function: MmBackward0", 200, 100, kAutograd);
  trace.alloc(210, 3, 30 * kMB, kAutograd);  // gradient of a parameter
  trace.alloc(220, 4, 50 * kMB, kAutograd);  // intermediate: the peak, 220 MB
  trace.release(230, 1, 40 * kMB, kAutograd);
  trace.release(240, 4, 50 * kMB, kAutograd);
  trace.range("Optimizer.step#SGD.step", 400, 100);
  trace.alloc(410, 5, 20 * kMB);  // momentum, made in the first step and kept
  trace.range("Optimizer.zero_grad#SGD.zero_grad", 600, 50);
  trace.release(610, 3, 30 * kMB);
  trace.step(1, 1000, 1000);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  ASSERT_EQ(results.memory_timeline->devices.size(), 1U);
  const DeviceMemory& device = results.memory_timeline->devices[0];
  EXPECT_EQ(device.peak.at.allocated, 220 * kMB);
  EXPECT_EQ(store.text(store.slices.name[device.peak.slice.value]), "autograd::engine::evaluate_function: MmBackward0");
  ASSERT_TRUE(device.peak.categories);
  EXPECT_EQ(part(device, MemoryCategory::activations).bytes, 40 * kMB);
  EXPECT_EQ(part(device, MemoryCategory::gradients).bytes, 30 * kMB);
  EXPECT_EQ(part(device, MemoryCategory::workspace).bytes, 50 * kMB);
  EXPECT_EQ(part(device, MemoryCategory::unknown).bytes, 100 * kMB);
  EXPECT_EQ(part(device, MemoryCategory::unknown).basis, MemoryBasis::rest);
  EXPECT_EQ(device.peak.largest.front().bytes, 50 * kMB);
}

TEST(MemoryTimeline, StateOfAnOptimizerIsWhatItsStepKeeps) {
  MemoryTrace trace(10 * kMB, 500 * kMB);
  trace.step(0, 0, 1000);
  trace.range("Optimizer.step#AdamW.step", 400, 100);
  trace.alloc(410, 5, 20 * kMB).alloc(420, 6, 300 * kMB).release(430, 6, 300 * kMB);
  trace.alloc(600, 7, 400 * kMB);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const DeviceMemory& device = results.memory_timeline->devices.at(0);
  EXPECT_EQ(part(device, MemoryCategory::optimizer_state).bytes, 20 * kMB);
  EXPECT_EQ(part(device, MemoryCategory::optimizer_state).basis, MemoryBasis::life);
}

TEST(MemoryTimeline, BlocksFromBeforeAreFreedOnceAndNeverMakeTheLevelNegative) {
  MemoryTrace trace(400, 1000);
  trace.release(10, 7, 400);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const DeviceMemory& device = results.memory_timeline->devices.at(0);
  EXPECT_EQ(device.freed_from_before, 1U);
  EXPECT_EQ(device.peak.at.allocated, 0);
}

TEST(MemoryTimeline, WithoutTotalsThereIsChurnAndNoLevel) {
  MemoryTrace trace(0, 0);
  trace.totals = false;
  trace.step(0, 0, 100).step(1, 100, 100);
  trace.alloc(10, 1, 5 * kMB);
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const DeviceMemory& device = results.memory_timeline->devices.at(0);
  EXPECT_FALSE(device.has_levels);
  EXPECT_TRUE(device.timeline.empty());
  EXPECT_GT(device.allocations_per_step, 0);
}

TEST(MemoryTimeline, AnAllocationThatForcedTheDriverAlthoughEnoughWasFreeIsFragmentation) {
  MemoryTrace trace(10 * kMB, 100 * kMB);
  trace.alloc(10, 1, 20 * kMB);                      // fits
  trace.reserve(150 * kMB).alloc(20, 2, 50 * kMB);   // 70 MB were free, and still the driver had to be asked
  trace.reserve(400 * kMB).alloc(30, 3, 200 * kMB);  // 70 MB free, 200 asked: no fragmentation
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const MemoryFragmentation& found = results.memory_timeline->devices.at(0).fragmentation;
  EXPECT_EQ(found.driver_growth, 2U);
  EXPECT_EQ(found.forced, 1U);
  EXPECT_EQ(found.forced_bytes, 50 * kMB);
  EXPECT_EQ(found.forced_free_bytes, 70 * kMB);
}

TEST(MemoryTimeline, GrowthIsTheChangeOfTheLowestLevel) {
  MemoryTrace trace(10 * kMB, 900 * kMB);
  for (int step = 0; step < 5; ++step) {
    const std::int64_t start = step * 1000;
    trace.step(step, start, 1000);
    trace.op("aten::cat", start + 10, 20);
    trace.alloc(start + 20, 100 + step, 3 * kMB);  // kept for ever
    trace.alloc(start + 50, 1, (50 + step) * kMB).release(start + 60, 1, (50 + step) * kMB);
  }
  const TraceStore store = trace.store();
  const AnalysisResults results = analyse(store);
  const DeviceMemory& device = results.memory_timeline->devices.at(0);
  ASSERT_TRUE(device.growth);
  EXPECT_EQ(device.growth->bytes_per_step, 3 * kMB);
  EXPECT_EQ(device.growth->rising_share, 1.0);
  EXPECT_EQ(store.text(store.slices.name[device.growth->slice.value]), "aten::cat");
}

TEST(MemoryTimeline, ThinningKeepsFirstLastLowestAndHighest) {
  std::vector<MemoryPoint> points;
  for (std::int64_t i = 0; i < 100'000; ++i) points.push_back({i * 10, 1000 + i % 7, 5000});
  points[45'678].allocated = 9'999;
  points[77'777].allocated = 1;
  const std::vector<MemoryPoint> kept = thinned(points);
  EXPECT_LE(kept.size(), 2000U);
  EXPECT_EQ(kept.front().time_ns, 0);
  EXPECT_EQ(kept.back().time_ns, 999'990);
  const auto by_level = [](const MemoryPoint& a, const MemoryPoint& b) { return a.allocated < b.allocated; };
  EXPECT_EQ(std::max_element(kept.begin(), kept.end(), by_level)->time_ns, 456'780);
  EXPECT_EQ(std::min_element(kept.begin(), kept.end(), by_level)->time_ns, 777'770);
}

// Figures of a script of its own over the same file: sort the [memory] instants of device type 1 by time; peak and
// minimum of "Total Allocated", sizes of frees without an allocation, distinct "Total Reserved".
TEST(MemoryTimeline, AgreesWithTheTotalsOfARealCapture) {
  const std::string path = std::string(ACCEL_SOURCE_DIR) + "/../shared/traces/h200/pairs/mem_churn.before.json.gz";
  if (!std::ifstream(path).good()) GTEST_SKIP() << "no shared captures";
  auto store = import_trace(path, {});
  ASSERT_TRUE(store.ok());
  const AnalysisResults results = analyse(*store);
  const DeviceMemory& device = results.memory_timeline->devices.at(0);
  EXPECT_EQ(device.events, 3808U);
  EXPECT_EQ(device.peak.at.allocated, 6'382'810'112);
  EXPECT_EQ(device.reserved_peak, 6'738'149'376);
  EXPECT_EQ(device.freed_from_before, 76U);
  EXPECT_EQ(device.steps.front().low, 1'175'246'848);
  EXPECT_EQ(device.allocations_per_step, 476);
  EXPECT_EQ(results.memory_timeline->driver.allocations, 4.5);
  EXPECT_EQ(results.memory_timeline->driver.frees, 4.5);
  EXPECT_EQ(part(device, MemoryCategory::parameters).bytes, 366'723'072);
  std::int64_t sum = 0;
  for (const CategoryMemory& each : *device.peak.categories) sum += each.bytes;
  EXPECT_EQ(sum, device.peak.at.allocated);
}

}  // namespace
}  // namespace accel
