#include "history/database.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "history/regressions.h"
#include "history/replay_program.h"
#include "support/synthetic_job.h"
#include "unit/format/native_files.h"

namespace accel::history {
namespace {

KernelSample sample(const std::string& op, const std::string& kernel, std::int64_t median_us,
                    const std::string& dims = "[[64, 64], [64, 64]]") {
  KernelSample one;
  one.kernel = {{op, dims, "[\"float\", \"float\"]", "", "NVIDIA H200"}, kernel, "132x1x1", "256x1x1"};
  one.count = 10;
  one.min_ns = median_us * 900;
  one.median_ns = median_us * 1000;
  one.max_ns = median_us * 1100;
  one.total_ns = one.median_ns * 10;
  return one;
}

RunSamples run(int number, std::vector<KernelSample> kernels, const std::string& driver = "580") {
  RunSamples made;
  made.fingerprint = "run" + std::to_string(number);
  made.source = "trace" + std::to_string(number) + ".json";
  made.producer = "kineto_json";
  made.time_ns = std::int64_t{1'700'000'000'000'000'000} + number;
  made.versions = {{"cuda_driver_version", driver}};
  made.sm_clock_mhz = 1980;
  made.kernels = std::move(kernels);
  return made;
}

class KernelDatabase : public testing::Test {
 protected:
  Database open(const std::string& name = "kernels.db") {
    auto database = Database::open(path(name), Database::Mode::write);
    EXPECT_TRUE(database.ok()) << database.error().message;
    return std::move(*database);
  }
  std::string path(const std::string& name = "kernels.db") const { return (folder_ / name).string(); }
  Content content(Database& database) {
    auto all = read_content(database);
    EXPECT_TRUE(all.ok());
    return std::move(*all);
  }
  const format::TemporaryFolder folder_;
};

TEST_F(KernelDatabase, keeps_a_capture_once_and_gives_back_what_it_got) {
  Database database = open();
  RunSamples first = run(1, {sample("aten::mm", "gemm", 100)});
  first.kernels[0].counters["lts__t_sector_hit_rate.pct"] = 73.5;
  first.kernels[0].concrete = R"(["", ""])";
  const auto recorded = database.record(first);
  ASSERT_TRUE(recorded.ok());
  EXPECT_FALSE(recorded->known);
  const auto again = database.record(first);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->known);
  EXPECT_EQ(again->run, recorded->run);
  const Content all = content(database);
  ASSERT_EQ(all.runs.size(), 1U);
  EXPECT_EQ(all.runs[0].versions.at("cuda_driver_version"), "580");
  EXPECT_EQ(all.runs[0].device, "NVIDIA H200");
  EXPECT_EQ(all.runs[0].sm_clock_mhz, 1980);
  ASSERT_EQ(all.kernels.size(), 1U);
  EXPECT_EQ(all.kernels[0].identity, first.kernels[0].kernel);
  EXPECT_EQ(all.kernels[0].concrete, first.kernels[0].concrete);
  ASSERT_EQ(all.samples.size(), 1U);
  EXPECT_EQ(all.samples[0].median_ns, 100'000);
  const auto counters = database.counters(all.kernels[0].id);
  ASSERT_TRUE(counters.ok());
  ASSERT_EQ(counters->size(), 1U);
  EXPECT_EQ(counters->front().value, 73.5);
}

TEST_F(KernelDatabase, drops_the_oldest_runs_and_what_only_they_held) {
  Database database = open();
  for (int number = 1; number <= 6; ++number) {
    ASSERT_TRUE(database.record(run(number, {sample("aten::mm", "gemm" + std::to_string(number), 100)}), 3).ok());
  }
  const Content all = content(database);
  ASSERT_EQ(all.runs.size(), 3U);
  EXPECT_EQ(all.runs.front().fingerprint, "run4");
  EXPECT_EQ(all.kernels.size(), 3U);
  EXPECT_EQ(all.samples.size(), 3U);
}

TEST_F(KernelDatabase, merges_without_doubles_and_in_any_order_to_the_same_history) {
  Database left = open("left.db");
  Database right = open("right.db");
  ASSERT_TRUE(left.record(run(1, {sample("aten::mm", "gemm", 100)})).ok());
  ASSERT_TRUE(left.record(run(2, {sample("aten::mm", "gemm", 110)})).ok());
  ASSERT_TRUE(right.record(run(2, {sample("aten::mm", "gemm", 110)})).ok());
  ASSERT_TRUE(right.record(run(3, {sample("aten::mm", "gemm", 120), sample("aten::add", "add", 5)})).ok());
  const auto came = left.merge(right);
  ASSERT_TRUE(came.ok());
  EXPECT_EQ(*came, 1);
  Database other = open("other.db");
  ASSERT_TRUE(other.merge(right).ok());
  ASSERT_TRUE(other.merge(left).ok());
  for (Database* database : {&left, &other}) {
    const Content all = content(*database);
    ASSERT_EQ(all.runs.size(), 3U);
    EXPECT_EQ(all.runs[2].fingerprint, "run3");
    std::vector<std::int64_t> medians;
    medians.reserve(all.samples.size());
    for (const SampleRow& row : all.samples) medians.push_back(row.median_ns);
    std::sort(medians.begin(), medians.end());
    EXPECT_EQ(medians, (std::vector<std::int64_t>{5'000, 100'000, 110'000, 120'000}));
  }
}

TEST_F(KernelDatabase, a_kernel_slower_than_its_own_history_is_found_and_noise_is_not) {
  Database database = open();
  for (const auto& [number, us] : {std::pair(1, 100), {2, 104}, {3, 98}})
    ASSERT_TRUE(database.record(run(number, {sample("aten::mm", "gemm", us), sample("aten::add", "add", 3)})).ok());
  ASSERT_TRUE(database.record(run(4, {sample("aten::mm", "gemm", 120), sample("aten::add", "add", 4)})).ok());
  Content all = content(database);
  auto quiet = compare_run(all, std::nullopt, std::nullopt);
  ASSERT_TRUE(quiet.ok());
  EXPECT_TRUE(quiet->changes.empty()) << "20 % is within what a kernel varies by, and 1 us is no difference";
  ASSERT_TRUE(database.record(run(5, {sample("aten::mm", "gemm", 150), sample("aten::add", "add", 3)})).ok());
  all = content(database);
  const auto found = compare_run(all, std::nullopt, std::nullopt);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->changes.size(), 1U);
  EXPECT_EQ(found->changes[0].change, Change::slower);
  EXPECT_TRUE(found->changes[0].worse());
  EXPECT_EQ(found->changes[0].earlier_runs, 4);
  EXPECT_NEAR(found->changes[0].ratio(), 1.5, 0.03);
  EXPECT_EQ(found->known_kernels, 2);
}

TEST_F(KernelDatabase, what_was_as_slow_before_is_how_it_varies) {
  Database database = open();
  for (const auto& [number, us] : {std::pair(1, 100), {2, 160}, {3, 100}, {4, 155}})
    ASSERT_TRUE(database.record(run(number, {sample("aten::mm", "gemm", us)})).ok());
  const Content all = content(database);
  const auto found = compare_run(all, std::nullopt, std::nullopt);
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->changes.empty());
}

TEST_F(KernelDatabase, another_kernel_for_the_same_work_after_an_upgrade_is_named_with_what_changed) {
  Database database = open();
  ASSERT_TRUE(database.record(run(1, {sample("aten::mm", "nvjet_128x256", 100)})).ok());
  ASSERT_TRUE(database.record(run(2, {sample("aten::mm", "cutlass_75_tensorop", 400)}, "590")).ok());
  const Content all = content(database);
  const auto found = compare_run(all, std::nullopt, std::nullopt);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->changes.size(), 1U);
  EXPECT_EQ(found->changes[0].change, Change::other_kernel);
  EXPECT_TRUE(found->changes[0].worse());
  EXPECT_EQ(found->changes[0].kernel->identity.name, "cutlass_75_tensorop");
  EXPECT_EQ(found->changes[0].before->identity.name, "nvjet_128x256");
  ASSERT_EQ(found->versions.size(), 1U);
  EXPECT_EQ(found->versions[0].before, "580");
  EXPECT_EQ(found->versions[0].now, "590");
  EXPECT_EQ(found->clock_ratio, 1.0);
}

TEST_F(KernelDatabase, runs_on_another_device_are_no_history) {
  Database database = open();
  RunSamples other = run(1, {sample("aten::mm", "gemm", 10)});
  other.kernels[0].kernel.work.device = "NVIDIA A100";
  ASSERT_TRUE(database.record(other).ok());
  ASSERT_TRUE(database.record(run(2, {sample("aten::mm", "gemm", 100)})).ok());
  const Content all = content(database);
  const auto found = compare_run(all, std::nullopt, std::nullopt);
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->earlier.empty());
  EXPECT_FALSE(compare_run(all, 77, std::nullopt).ok());
  EXPECT_FALSE(compare_run(all, 2, 2).ok());
}

TEST_F(KernelDatabase, a_file_that_is_something_else_or_newer_is_refused_and_left_as_it_is) {
  std::ofstream(path("text.db")) << std::string(5000, 'x');
  const auto text = Database::open(path("text.db"), Database::Mode::write);
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, ErrorCode::not_a_trace);
  EXPECT_EQ(std::filesystem::file_size(path("text.db")), 5000U);
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path("foreign.db").c_str(), &handle), SQLITE_OK);
  sqlite3_exec(handle, "CREATE TABLE run (id INTEGER)", nullptr, nullptr, nullptr);
  sqlite3_close(handle);
  const auto foreign = Database::open(path("foreign.db"), Database::Mode::write);
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().code, ErrorCode::not_a_trace);
  {
    open("newer.db");
  }
  ASSERT_EQ(sqlite3_open(path("newer.db").c_str(), &handle), SQLITE_OK);
  sqlite3_exec(handle, "PRAGMA user_version = 99", nullptr, nullptr, nullptr);
  sqlite3_close(handle);
  const auto newer = Database::open(path("newer.db"), Database::Mode::read);
  ASSERT_FALSE(newer.ok());
  EXPECT_NE(newer.error().message.find("version 99"), std::string::npos);
  EXPECT_EQ(Database::open(path("none.db"), Database::Mode::read).error().code, ErrorCode::not_found);
  EXPECT_FALSE(Database::open(folder_.path().string(), Database::Mode::read).ok());
}

TEST_F(KernelDatabase, a_schema_with_more_in_it_is_damage) {
  {
    open();
  }
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &handle), SQLITE_OK);
  sqlite3_exec(handle, "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM work; END", nullptr, nullptr, nullptr);
  sqlite3_close(handle);
  const auto opened = Database::open(path(), Database::Mode::write);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::unreadable);
}

TEST_F(KernelDatabase, every_damaged_byte_is_an_error_or_harmless) {
  {
    Database database = open();
    std::vector<KernelSample> kernels;
    kernels.reserve(60);
    for (int i = 0; i < 60; ++i) kernels.push_back(sample("aten::mm", "gemm" + std::to_string(i), 100 + i));
    ASSERT_TRUE(database.record(run(1, kernels)).ok());
    ASSERT_TRUE(database.record(run(2, kernels)).ok());
  }
  std::ifstream in(path(), std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  std::uint64_t random = 1;
  for (int round = 0; round < 120; ++round) {
    std::string damaged = whole;
    for (int byte = 0; byte < 4; ++byte) {
      random = random * 6364136223846793005ULL + 1442695040888963407ULL;
      damaged[(random >> 20) % damaged.size()] = static_cast<char>(random >> 50);
    }
    if (round % 5 == 0) damaged.resize((random >> 24) % damaged.size());
    std::ofstream(path("damaged.db"), std::ios::binary) << damaged;
    auto database = Database::open(path("damaged.db"), Database::Mode::read);
    if (!database) continue;
    auto all = read_content(*database);
    if (all) (void)compare_run(*all, std::nullopt, std::nullopt);
    for (std::int64_t id = 0; id < 3; ++id) (void)database->counters(id);
  }
}

TEST_F(KernelDatabase, the_same_captures_give_the_same_bytes) {
  for (const char* name : {"a.db", "b.db"}) {
    Database database = open(name);
    ASSERT_TRUE(database.record(run(1, {sample("aten::mm", "gemm", 100), sample("aten::add", "add", 3)})).ok());
    ASSERT_TRUE(database.record(run(2, {sample("aten::mm", "gemm", 130)})).ok());
  }
  std::ifstream a(path("a.db"), std::ios::binary);
  std::ifstream b(path("b.db"), std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(a), {}), std::string(std::istreambuf_iterator<char>(b), {}));
}

TEST(KernelSamples, tell_kernels_apart_by_launch_and_work_and_leave_communication_out) {
  test::SyntheticJob job;
  job.on_h200();
  for (int step = 0; step < 4; ++step) {
    job.begin_step();
    job.launch_shaped({"aten::mm", "[[64, 64], [64, 64]]", R"(["float", "float"])", "gemm", 10, 50.0 + step});
    job.launch_shaped({"aten::mm", "[[64, 64], [64, 64]]", R"(["float", "float"])", "gemm", 10, 80, 7});
    job.launch_shaped({"aten::mm", "[[32, 64], [64, 64]]", R"(["float", "float"])", "gemm", 10, 20});
    job.launch("nccl:all_reduce", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 10, 500);
    job.end_step();
  }
  const auto outcome = job.diagnose();
  const RunSamples made = kernel_samples(outcome.store, outcome.results);
  ASSERT_EQ(made.kernels.size(), 3U);
  EXPECT_EQ(made.kernels[0].kernel.grid, "7x1x1");
  EXPECT_EQ(made.kernels[0].median_ns, 80'000);
  EXPECT_EQ(made.kernels[1].kernel.grid, "2112x1x1");
  EXPECT_EQ(made.kernels[1].count, 4U);
  EXPECT_EQ(made.kernels[1].min_ns, 50'000);
  EXPECT_EQ(made.kernels[1].max_ns, 53'000);
  EXPECT_EQ(made.kernels[1].kernel.work.device, "NVIDIA H200");
  EXPECT_EQ(made.kernels[2].kernel.work.dims, "[[32, 64], [64, 64]]");
  EXPECT_EQ(made.fingerprint, kernel_samples(outcome.store, outcome.results).fingerprint);
}

TEST(ReplayProgram, is_refused_with_the_reason_where_the_op_cannot_be_called_again) {
  KernelRow kernel;
  kernel.identity = {
      {"aten::mm", "[[4, 4], [4, 4]]", R"(["float", "float"])", "[[4, 1], [4, 1]]", "d"}, "gemm", "1x1x1", ""};
  const auto program = replay_program(kernel);
  ASSERT_TRUE(program.ok());
  EXPECT_NE(program->find("aten::mm"), std::string::npos);
  EXPECT_EQ(program->find("@RECORD@"), std::string::npos);
  kernel.identity.work.op = "aten::mm'); import os; os.system('x";
  EXPECT_FALSE(replay_program(kernel).ok());
  kernel.identity.work.op = "autograd::engine::evaluate_function: MmBackward0";
  EXPECT_FALSE(replay_program(kernel).ok());
  kernel.identity.work.op = "aten::mm";
  kernel.identity.work.dims = "";
  EXPECT_NE(replay_program(kernel).error().message.find("record_shapes"), std::string::npos);
  kernel.identity.work.op = "";
  EXPECT_NE(replay_program(kernel).error().message.find("no op launched it"), std::string::npos);
  EXPECT_EQ(function_name("at::native::vectorized_elementwise_kernel<4, x::y>"), "vectorized_elementwise_kernel");
}

}  // namespace
}  // namespace accel::history
