// A light window of a job whose step is one CUDA graph: kernels without launches, step marks of a host that runs ahead.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/step_segmentation.h"
#include "format/native_writer.h"
#include "ingest/importer.h"
#include "unit/format/native_files.h"

namespace accel {
namespace {

using format::NativeTable;
using format::OwnedRows;
namespace native = format::native;

struct Window {
  double host_ms = 1.98;    // of a step, as the host marks it
  double device_ms = 2.28;  // between two replays
  int steps = 12;
  int replays_per_step = 1;
  int replays = 12;      // on the device while the window is open
  double lead_ms = 0.5;  // from the first mark to the first replay
};

class GraphWindow : public testing::Test {
 protected:
  StepSegmentation judged(const Window& window) {
    constexpr double kTicksPerMs = 1e6;
    constexpr int kKernels = 20;
    std::vector<char> scratch(format::NativeFile::scratch_bytes(1 << 20));
    const std::filesystem::path path = folder_ / "graph.accel";
    std::filesystem::remove(path);
    format::NativeFile file;
    EXPECT_EQ(file.open(AT_FDCWD, path.c_str(), {}, {}, scratch.data(), scratch.size()), 0);
    const auto append = [&](NativeTable table, auto... rows) {
      OwnedRows buffer(table);
      (put_row(*buffer, rows), ...);
      EXPECT_EQ(file.append(*buffer), 0);
    };
    const auto at = [&](double ms) { return static_cast<std::uint64_t>((10 + ms) * kTicksPerMs); };
    append(NativeTable::Meta, native::MetaRow{"pid", "77"}, native::MetaRow{"tick_hz", "1000000000"});
    append(NativeTable::Clock, native::ClockRow{0, 1'700'000'000'000'000'000, 0, 30},
           native::ClockRow{1'000'000'000, 1'700'000'001'000'000'000, 1'000'000'000, 30});
    append(NativeTable::Thread, native::ThreadRow{1, 78, "trainer"});
    append(NativeTable::Name, native::NameRow{1, "kernel", "fused_kernel"});
    for (int step = 0; step < window.steps; ++step) {
      append(NativeTable::Step, native::StepRow{step, at(step * window.host_ms), at((step + 1) * window.host_ms),
                                                format::kNoI64, 0.5, 1, format::kNoI64, 78, 3});
    }
    const double replay_ms = window.device_ms / window.replays_per_step;
    for (int replay = 0; replay < window.replays; ++replay) {
      const double begin = window.lead_ms + replay * replay_ms;
      const double kernel = replay_ms / kKernels;
      for (int k = 0; k < kKernels; ++k) {
        native::DeviceEventRow event;
        event.begin = at(begin + k * kernel);
        event.end = at(begin + (k + 0.95) * kernel);
        event.bytes = format::kNoU64;
        event.graph_node = static_cast<std::uint64_t>(k) + 1;
        event.correlation = 500 + static_cast<std::uint32_t>(replay);
        event.name = 1;
        event.context = 1;
        event.stream = 7;
        event.graph = 5;
        append(NativeTable::DeviceEvent, event);
      }
    }
    append(NativeTable::Window, native::WindowRow{at(0), at(window.steps * window.host_ms),
                                                  static_cast<std::uint32_t>(window.steps), 1, 2, "signal", "steps"});
    append(NativeTable::End, native::EndRow{at(100), 10, "steps"});
    file.close();
    const auto store = import_trace(path, {});
    EXPECT_TRUE(store.ok());
    const auto results = run_analyses(*store, {});
    EXPECT_TRUE(results.ok());
    return *results->step_segmentation;
  }

  const format::TemporaryFolder folder_;
};

TEST_F(GraphWindow, a_host_that_runs_ahead_does_not_make_the_step_shorter) {
  const StepSegmentation steps = judged({});
  EXPECT_EQ(steps.paced_by, PacedBy::device);
  EXPECT_NEAR(steps.step_mean_ns, 2.28e6, 0.01e6);
  ASSERT_EQ(steps.devices.size(), 1U);
  for (const DeviceStep& step : steps.devices[0].steps) EXPECT_EQ(step.assigned_events, 20U);
}

TEST_F(GraphWindow, replays_that_the_window_cut_off_at_its_end_do_not_matter) {
  const StepSegmentation steps = judged({.steps = 12, .replays = 10});
  EXPECT_EQ(steps.paced_by, PacedBy::device);
  EXPECT_NEAR(steps.step_mean_ns, 2.28e6, 0.01e6);
}

TEST_F(GraphWindow, replays_of_steps_before_the_window_are_none_of_its_steps) {
  const StepSegmentation steps = judged({.host_ms = 2.28, .steps = 12, .replays = 14, .lead_ms = -4});
  EXPECT_EQ(steps.paced_by, PacedBy::host);
  EXPECT_NEAR(steps.step_mean_ns, 2.28e6, 0.01e6);
  ASSERT_EQ(steps.devices.size(), 1U);
  EXPECT_EQ(steps.devices[0].steps.front().assigned_events, 20U);
  EXPECT_GE(steps.devices[0].steps.front().first_start_ns, steps.steps.front().host.start_ns);
}

TEST_F(GraphWindow, several_replays_of_a_step_stay_together) {
  const StepSegmentation steps = judged({.replays_per_step = 3, .replays = 36});
  EXPECT_EQ(steps.paced_by, PacedBy::device);
  EXPECT_NEAR(steps.step_mean_ns, 2.28e6, 0.01e6);
  EXPECT_EQ(steps.devices.at(0).steps.at(4).assigned_events, 60U);
}

TEST_F(GraphWindow, replays_that_are_not_regular_are_given_to_no_step) {
  const StepSegmentation steps = judged({.steps = 12, .replays = 18});
  EXPECT_EQ(steps.paced_by, PacedBy::host);
  EXPECT_NEAR(steps.step_mean_ns, 1.98e6, 0.01e6);
}

}  // namespace
}  // namespace accel
