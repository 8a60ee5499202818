#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "analysis/counter_values.h"
#include "format/native_writer.h"
#include "ingest/importer.h"
#include "unit/format/native_files.h"

namespace accel {
namespace {

using format::NativeTable;
using format::OwnedRows;
namespace native = format::native;

constexpr std::int64_t kEpoch = 1'700'000'000'000'000'000;

// Ticks of 2 GHz; the first pair is at tick 0.
class NativeImport : public testing::Test {
 protected:
  std::string written(bool whole = true) {
    std::vector<char> scratch(format::NativeFile::scratch_bytes(100000));
    const std::filesystem::path path = folder_ / "capture.accel";
    std::filesystem::remove(path);
    format::NativeFile file;
    EXPECT_EQ(file.open(AT_FDCWD, path.c_str(), {}, {}, scratch.data(), scratch.size()), 0);
    const auto append = [&](NativeTable table, auto... rows) {
      OwnedRows buffer(table);
      (put_row(*buffer, rows), ...);
      EXPECT_EQ(file.append(*buffer), 0);
    };
    append(NativeTable::Meta, native::MetaRow{"pid", "77"}, native::MetaRow{"rank", "3"},
           native::MetaRow{"world_size", "8"}, native::MetaRow{"host", "node1"},
           native::MetaRow{"tick_hz", "2000000000"}, native::MetaRow{"recorder", "accel-profiler runtime"});
    append(NativeTable::Clock, native::ClockRow{0, kEpoch, 0, 30},
           native::ClockRow{2'000'000'000, kEpoch + 1'000'000'000, 1'000'000'000, 30});
    append(NativeTable::Thread, native::ThreadRow{5, 78, "trainer"});
    append(NativeTable::Name, native::NameRow{1, "op", "matmul"}, native::NameRow{2, "data_loading", "load batch"},
           native::NameRow{3, "mine", "stage"});
    append(NativeTable::Args, native::ArgsRow{9, "[[64, 1024]]", "bf16"});
    append(NativeTable::CounterInfo, native::CounterInfoRow{4, "grad_norm", "", "user", 5000000, 0});
    append(NativeTable::Scope, native::ScopeRow{1100, 2100, format::kNoU64, 1, 9, 5},
           native::ScopeRow{3000, 9000, format::kNoU64, 2, 0, 5},
           native::ScopeRow{9500, format::kNoU64, format::kNoU64, 3, 0, 5});
    append(NativeTable::Step, native::StepRow{41, 1000, 10000, 3000, 0.5, 64, -1, 78, 3},
           native::StepRow{42, 10000, 20000, 3000, 0.4, 64, -1, 78, 3});
    append(NativeTable::Counter, native::CounterRow{4000, 1.5, 4});
    append(NativeTable::Function, native::FunctionRow{1, "main", "/home/u/train.py"},
           native::FunctionRow{2, "fetch", "/usr/lib/python3.11/site-packages/torch/utils/data/_utils/fetch.py"});
    append(NativeTable::Frame, native::FrameRow{1, 0, 1, 12}, native::FrameRow{2, 1, 2, 54},
           native::FrameRow{3, 9, 8, 0});  // of a function and a caller that were lost
    append(NativeTable::Stack, native::StackRow{4000, 2, 77, 78, 2}, native::StackRow{6000, 3, 90, 90, 9},
           native::StackRow{7000, 5, 90, 90, 0});  // a frame that was lost: nothing is known
    append(NativeTable::Curve, native::CurveRow{1, 200, 600, 50, 2.0, 64, -1, 1, 2},
           native::CurveRow{3, 600, 1000, format::kNoI64, 1.5, 32, 4, 1, 1});
    append(NativeTable::Cost, native::CostRow{1000, 20000, 1.25, 1.0, 0.25, 0.5, 8});
    append(NativeTable::Note, native::NoteRow{1, 12, 1, "dropped_records", "rings were full", "raise it"});
    if (whole) {
      append(NativeTable::Window, native::WindowRow{1000, 20000, 2, 1, 2, "signal", "steps"});
      append(NativeTable::End, native::EndRow{20000, 10, "steps"});
    }
    return path;
  }
  format::TemporaryFolder folder_;
};

TEST_F(NativeImport, scopes_become_slices_with_times_of_day_names_threads_and_shapes) {
  const Result<TraceStore> read = import_trace(written(), {});
  ASSERT_TRUE(read.ok()) << read.error().message;
  const TraceStore& store = *read;
  EXPECT_EQ(store.input.format, "native_binary");
  EXPECT_EQ(store.process.rank, 3);
  EXPECT_EQ(store.process.world_size, 8);
  EXPECT_EQ(store.process.host, "node1");
  EXPECT_EQ(store.process.main_pid, 77);
  ASSERT_EQ(store.slices.size(), 5U);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < store.slices.size(); ++i) names.emplace_back(store.text(store.slices.name[i]));
  EXPECT_EQ(names, (std::vector<std::string>{"accel::step#41", "matmul", "enumerate(DataLoader)#load batch.__next__",
                                             "stage", "accel::step#42"}));
  EXPECT_EQ(store.slices.start_ns[0], kEpoch + 500);
  EXPECT_EQ(store.slices.dur_ns[0], 4500);
  EXPECT_EQ(store.slices.start_ns[1], kEpoch + 550);
  EXPECT_EQ(store.slices.dur_ns[1], 500);
  EXPECT_EQ(store.slices.kind[1], SliceKind::op);
  EXPECT_EQ(store.slices.kind[2], SliceKind::annotation);
  EXPECT_EQ(store.text(store.op_args.dims[store.op_details.args[store.slices.detail[1].value].value]), "[[64, 1024]]");
  EXPECT_EQ(store.slices.parent[1], SliceId(0)) << "the step is around its scopes";
  EXPECT_EQ(store.slices.flags[3] & kSliceUnfinished, kSliceUnfinished);
  ASSERT_EQ(store.threads.size(), 1U);
  EXPECT_EQ(store.threads.pid[0], 77);
  EXPECT_EQ(store.threads.tid[0], 78);
  EXPECT_EQ(store.text(store.threads.name[0]), "trainer");
  ASSERT_TRUE(store.process.recorded.has_value());
  EXPECT_EQ(store.process.recorded->length_ns(), 9500);
}

TEST_F(NativeImport, sampled_stacks_become_frames_below_their_callers) {
  const Result<TraceStore> read = import_trace(written(), {});
  ASSERT_TRUE(read.ok());
  const std::string epoch = std::to_string(kEpoch / 1'000'000);
  EXPECT_EQ(read->process.options.at("accel_python_stacks"),
            "f -1 /home/u/train.py(12): main\n"
            "f 0 torch/utils/data/_utils/fetch.py(54): fetch\n"
            "f -1 (function lost)\n"
            "s " +
                epoch +
                "002000 77 78 1 2\n"
                "s " +
                epoch + "003000 90 90 2 0\n")
      << "a state of a newer recorder is not known";
}

TEST_F(NativeImport, numbers_become_counters_and_notes_of_the_recorder_become_notes) {
  const Result<TraceStore> read = import_trace(written(), {});
  ASSERT_TRUE(read.ok());
  std::vector<std::pair<std::string, double>> counters;
  for (std::size_t i = 0; i < read->counters.size(); ++i)
    counters.emplace_back(read->text(read->counters.name[i]), read->counters.value[i]);
  EXPECT_NE(std::find(counters.begin(), counters.end(), std::pair<std::string, double>("grad_norm", 1.5)),
            counters.end());
  EXPECT_NE(std::find(counters.begin(), counters.end(), std::pair<std::string, double>("loss", 0.4)), counters.end());
  ASSERT_NE(read->notes.find(NoteCode::recorder_records_lost), nullptr);
  EXPECT_EQ(read->notes.find(NoteCode::recorder_records_lost)->count, 12U);
  const CounterValues values(*read);
  const CounterValues::Counter* grad_norm = values.find("grad_norm");
  ASSERT_NE(grad_norm, nullptr);
  EXPECT_EQ(grad_norm->refresh_ns, 5'000'000);
  EXPECT_EQ(read->text(grad_norm->source), "user");
  EXPECT_EQ(read->notes.find(NoteCode::truncated), nullptr);
}

TEST_F(NativeImport, the_curve_of_the_run_is_no_part_of_the_window_and_the_cost_stands_with_the_process) {
  const Result<TraceStore> read = import_trace(written(), {});
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->run_steps.size(), 2U);
  EXPECT_EQ(read->run_steps.step[0], 1);
  EXPECT_EQ(read->run_steps.steps[0], 2U);
  EXPECT_EQ(read->run_steps.start_ns[0], kEpoch + 100);
  EXPECT_EQ(read->run_steps.end_ns[1], kEpoch + 500);
  EXPECT_EQ(read->run_steps.longest_ns[0], 1000);
  EXPECT_EQ(read->run_steps.loader_wait_ns[1], kNotRecorded);
  EXPECT_DOUBLE_EQ(read->run_steps.loss[1], 1.5);
  EXPECT_GE(read->time_range.start_ns, kEpoch + 500) << "the window begins later";
  EXPECT_EQ(read->process.options.at("cost_percent"), "1.25");
}

TEST_F(NativeImport, steps_and_times_can_be_chosen) {
  ImportOptions options;
  options.first_step = options.last_step = 42;
  const Result<TraceStore> one = import_trace(written(), options);
  ASSERT_TRUE(one.ok()) << one.error().message;
  EXPECT_NE(one->notes.find(NoteCode::filtered), nullptr);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < one->slices.size(); ++i) names.emplace_back(one->text(one->slices.name[i]));
  EXPECT_EQ(std::count(names.begin(), names.end(), "accel::step#41"), 0);
  EXPECT_EQ(std::count(names.begin(), names.end(), "accel::step#42"), 1);
  EXPECT_EQ(one->run_steps.size(), 2U) << "the run is still the run";
  options.first_step = options.last_step = 7;
  EXPECT_FALSE(import_trace(written(), options).ok());
  ImportOptions time;
  time.to_ns = 1000;
  const Result<TraceStore> early = import_trace(written(), time);
  ASSERT_TRUE(early.ok()) << early.error().message;
  EXPECT_LT(early->slices.size(), 5U);
}

TEST_F(NativeImport, compute_scopes_stand_for_the_device_of_a_job_without_one) {
  const Result<TraceStore> read =
      import_trace(std::string(ACCEL_SOURCE_DIR) + "/tests/golden/native/slow_loader-format_1.0.accel", {});
  ASSERT_TRUE(read.ok());
  ASSERT_FALSE(read->device_events.empty());
  ASSERT_EQ(read->process.devices.size(), 1U);
  EXPECT_EQ(read->process.devices[0].name, "CPU");
  for (std::size_t i = 0; i < read->device_events.size(); ++i) {
    const SliceId call = read->device_events.launch[i];
    ASSERT_TRUE(call.valid()) << "each piece of work belongs to the step that it was begun in";
    EXPECT_EQ(read->slices.start_ns[call.value], read->device_events.start_ns[i]);
  }
  EXPECT_TRUE(import_trace(written(), {})->device_events.empty()) << "ops alone are no device";
}

TEST_F(NativeImport, a_capture_of_a_killed_process_is_read_and_called_truncated) {
  const Result<TraceStore> read = import_trace(written(false), {});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->slices.size(), 5U);
  EXPECT_NE(read->notes.find(NoteCode::truncated), nullptr);
}

TEST_F(NativeImport, damage_is_told_and_the_rest_is_kept) {
  const std::string path = written();
  std::string bytes = format::bytes_of(path);
  const std::size_t at = bytes.find("matmul");
  ASSERT_NE(at, std::string::npos);
  bytes[at] = 'x';
  std::ofstream(path, std::ios::binary) << bytes;
  const Result<TraceStore> read = import_trace(path, {});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->slices.size(), 5U);
  EXPECT_EQ(read->text(read->slices.name[1]), "(name lost)");
  ASSERT_NE(read->notes.find(NoteCode::compressed_stream_cut), nullptr);
}

TEST_F(NativeImport, every_released_version_of_the_format_stays_readable) {
  const std::filesystem::path golden = std::filesystem::path(ACCEL_SOURCE_DIR) / "tests/golden/native";
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden)) {
    if (entry.path().extension() != ".accel") continue;
    ++files;
    const Result<TraceStore> read = import_trace(entry.path(), {});
    ASSERT_TRUE(read.ok()) << entry.path() << ": " << read.error().message;
    EXPECT_GT(read->slices.size(), 10U);
    EXPECT_TRUE(read->process.recorded.has_value());
    EXPECT_EQ(read->notes.find(NoteCode::truncated), nullptr);
  }
  EXPECT_GE(files, 1);
}

}  // namespace
}  // namespace accel
