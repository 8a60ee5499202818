// Windows: what is in a capture, and how it ends.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <csignal>
#include <set>
#include <thread>

#include "unit/runtime/sdk.h"

namespace accel::profiler {
namespace {

TEST_F(Sdk, asleep_it_makes_no_file_no_folder_and_records_nothing) {
  enable();
  EXPECT_EQ(Runtime::state(), ACCEL_STATE_IDLE);
  train(20);
  EXPECT_EQ(accel_is_active(), 0);
  EXPECT_FALSE(std::filesystem::exists(output_));
  EXPECT_EQ(Runtime::newest_capture(), "");
}

TEST_F(Sdk, a_window_holds_the_kept_steps_their_scopes_and_how_it_came_about) {
  enable();
  ASSERT_EQ(Runtime::capture(schedule(2, 5)), ACCEL_OK);
  EXPECT_EQ(Runtime::capture(schedule(2, 5)), ACCEL_BUSY);
  step_until(ACCEL_STATE_ACTIVE);
  const Number number("my_number");
  for (int i = 0; i < 7; ++i) {
    number.record(0.25);
    Runtime::mark("here");
    static const Name kShaped("shaped", category::kOp);
    {
      Scope scope(kShaped);
      scope.shape("[[64, 1024]]", "bf16");
      scope.bytes(77);
    }
    train(1, 2.5);
  }
  ASSERT_EQ(Runtime::wait(10000), ACCEL_OK);
  const Read read = read_capture(Runtime::newest_capture());
  EXPECT_TRUE(read.summary.ended);
  EXPECT_EQ(read.summary.damaged_bytes + read.summary.cut_bytes, 0U);
  EXPECT_EQ(read.steps.size(), 5U);
  EXPECT_EQ(read.losses, std::vector<double>(5, 2.5));
  EXPECT_EQ(std::count(read.scopes.begin(), read.scopes.end(), "work"), 5);
  EXPECT_EQ(std::count(read.scopes.begin(), read.scopes.end(), "shaped"), 5);
  EXPECT_EQ(read.marks, std::vector<std::string>(5, "here"));
  EXPECT_EQ(read.counters.at("my_number"), std::vector<double>(5, 0.25));
  EXPECT_EQ(read.sources.at("my_number"), "user");
  EXPECT_EQ(read.shape, "[[64, 1024]]");
  EXPECT_EQ(read.ended_by, "steps");
  EXPECT_EQ(read.asked_by, "program");
  EXPECT_EQ(read.meta.at("rank"), "3");
  EXPECT_EQ(read.meta.at("pid"), std::to_string(::getpid()));
  for (std::size_t i = 0; i < read.scopes.size(); ++i) {
    if (read.scopes[i] == "work") {
      EXPECT_GE(read.scope_ms[i], 0.9);
      EXPECT_LT(read.scope_ms[i], 500);
    }
  }
}

TEST_F(Sdk, a_window_carries_the_samples_of_the_process_with_their_source) {
  enable();
  ASSERT_EQ(Runtime::capture(schedule(0, 1000000)), ACCEL_OK);
  step_until(ACCEL_STATE_ACTIVE);
  train(200);
  Runtime::stop();
  ASSERT_EQ(Runtime::wait(10000), ACCEL_OK);
  const Read read = read_capture(Runtime::newest_capture());
  ASSERT_GE(read.counters.count("rss_bytes"), 1U);
  EXPECT_GE(read.counters.at("rss_bytes").size(), 3U);
  EXPECT_GT(read.counters.at("rss_bytes").front(), 1e6);
  EXPECT_EQ(read.sources.at("rss_bytes"), "process");
}

TEST_F(Sdk, several_windows_in_turn_are_files_of_their_own) {
  enable();
  Schedule three = schedule(1, 2);
  three.repeat = 3;
  ASSERT_EQ(Runtime::capture(three), ACCEL_OK);
  for (int i = 0; i < 5000 && (captures().size() < 3 || Runtime::state() != ACCEL_STATE_IDLE); ++i) train(1);
  ASSERT_EQ(captures().size(), 3U);
  for (const std::string& path : captures()) EXPECT_EQ(read_capture(path).steps.size(), 2U) << path;
}

TEST_F(Sdk, windows_in_turn_from_an_agreed_step_begin_at_steps_that_every_rank_can_tell) {
  enable();
  Schedule two = schedule(1, 2);
  two.repeat = 2;
  two.wait = 300;
  two.start_step = 300;
  ASSERT_EQ(Runtime::capture(two), ACCEL_OK);
  for (std::size_t window = 1; window <= 2; ++window) {
    for (int i = 0; i < 10000 && captures().size() < window; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_EQ(captures().size(), window);
    step_until(ACCEL_STATE_ACTIVE);
    train(3);
  }
  ASSERT_EQ(Runtime::wait(10000), ACCEL_OK);
  std::set<std::vector<std::int64_t>> kept;
  for (const std::string& path : captures()) kept.insert(read_capture(path).steps);
  EXPECT_EQ(kept, (std::set<std::vector<std::int64_t>>{{300, 301}, {603, 604}}));
}

TEST_F(Sdk, a_window_ends_by_seconds_and_a_hang_shows_the_open_scopes) {
  options_.max_capture_seconds = 1;
  enable();
  Runtime::capture(schedule(0, 1000000));
  step_until(ACCEL_STATE_ACTIVE);
  for (int i = 0; i < 100000 && Runtime::state() == ACCEL_STATE_ACTIVE; ++i) train(1);
  ASSERT_EQ(Runtime::wait(10000), ACCEL_OK);
  EXPECT_EQ(read_capture(Runtime::newest_capture()).ended_by, "seconds");
  Runtime::capture(schedule(0, 1000000));
  step_until(ACCEL_STATE_ACTIVE);
  static const Name kStuck("stuck", category::kOp);
  const Scope stuck(kStuck);
  for (int i = 0; i < 10000 && Runtime::state() == ACCEL_STATE_ACTIVE; ++i) ::usleep(1000);
  ASSERT_EQ(Runtime::wait(10000), ACCEL_OK);
  const Read read = read_capture(Runtime::newest_capture());
  EXPECT_EQ(read.ended_by, "hang");
  EXPECT_GE(read.unfinished, 1U);
  EXPECT_NE(std::find(read.scopes.begin(), read.scopes.end(), "stuck"), read.scopes.end());
  EXPECT_NE(std::find(read.notes.begin(), read.notes.end(), "hang"), read.notes.end());
}

TEST_F(Sdk, a_window_ends_by_bytes) {
  options_.max_capture_bytes = 20000;
  options_.flags |= ACCEL_EXPERT;
  enable();
  Schedule without_promise = schedule(0, 1000000);
  without_promise.level = 3;
  Runtime::capture(without_promise);
  step_until(ACCEL_STATE_ACTIVE);
  static const Name kShort("short", category::kOp);
  for (int i = 0; i < 100000 && Runtime::state() == ACCEL_STATE_ACTIVE; ++i) {
    for (int k = 0; k < 500; ++k) const Scope scope(kShort);
    train(1);
  }
  ASSERT_EQ(Runtime::wait(10000), ACCEL_OK);
  EXPECT_EQ(read_capture(Runtime::newest_capture()).ended_by, "bytes");
}

TEST_F(Sdk, a_window_that_no_step_opens_leaves_what_the_threads_do_and_opens_when_a_step_comes) {
  options_.max_capture_seconds = 1;
  enable();
  train(3);
  ASSERT_EQ(Runtime::capture(schedule(0, 2)), ACCEL_OK);
  std::string stacks;
  for (int i = 0; i < 1000 && stacks.empty(); ++i) {
    ::usleep(20000);
    std::error_code none_yet;
    for (const auto& entry : std::filesystem::directory_iterator(output_, none_yet)) {
      if (entry.path().filename().string().find("-stacks") != std::string::npos) stacks = entry.path();
    }
  }
  EXPECT_NE(stacks, "");
  EXPECT_EQ(Runtime::state(), ACCEL_STATE_ARMED) << "a long evaluation looks the same";
  ::usleep(100000);  // the note comes behind the file
  step_until(ACCEL_STATE_ACTIVE);
  step_until(ACCEL_STATE_IDLE);
  const Read read = read_capture(Runtime::newest_capture());
  EXPECT_EQ(read.steps.size(), 2U);
  EXPECT_EQ(read.note_counts.count("no_step"), 1U);
}

std::atomic<int> alarms{0};
void count_alarm(int) { ++alarms; }

TEST_F(Sdk, signals_of_the_host_in_the_middle_of_scopes_lose_nothing) {
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = count_alarm;
  action.sa_flags = SA_RESTART;
  ASSERT_EQ(::sigaction(SIGALRM, &action, &before), 0);
  enable();
  ASSERT_EQ(Runtime::capture(schedule(0, 40)), ACCEL_OK);
  step_until(ACCEL_STATE_ACTIVE);
  const itimerval often = {{0, 200}, {0, 200}};
  const itimerval never = {};
  ::setitimer(ITIMER_REAL, &often, nullptr);
  static const Name kBusy("busy", category::kOp);
  constexpr int kScopes = 150;  // all steps together fit into the ring, however late the drainer comes
  for (int step = 0; step < 40; ++step) {
    for (int i = 0; i < kScopes; ++i) const Scope scope(kBusy);
    ::usleep(1000);
    Runtime::step();
  }
  ::setitimer(ITIMER_REAL, &never, nullptr);
  step_until(ACCEL_STATE_IDLE);
  ::sigaction(SIGALRM, &before, nullptr);
  const Read read = read_capture(Runtime::newest_capture());
  EXPECT_GT(alarms, 0);
  EXPECT_EQ(std::count(read.scopes.begin(), read.scopes.end(), "busy"), 40 * kScopes);
  EXPECT_EQ(read.note_counts.count("dropped_records"), 0U);
}

TEST_F(Sdk, stop_closes_an_open_window_and_takes_back_an_armed_one) {
  enable();
  Schedule late = schedule(0, 5);
  late.wait = 1000000;
  ASSERT_EQ(Runtime::capture(late), ACCEL_OK);
  train(5);
  EXPECT_EQ(Runtime::stop(), ACCEL_OK);
  ASSERT_EQ(Runtime::wait(10000), ACCEL_OK);
  EXPECT_TRUE(captures().empty()) << "an armed window that never opened leaves no file";
  ASSERT_EQ(Runtime::capture(schedule(0, 1000000)), ACCEL_OK);
  step_until(ACCEL_STATE_ACTIVE);
  train(3);
  EXPECT_EQ(Runtime::stop(), ACCEL_OK);
  ASSERT_EQ(Runtime::wait(10000), ACCEL_OK);
  const Read read = read_capture(Runtime::newest_capture());
  EXPECT_EQ(read.ended_by, "program");
  EXPECT_TRUE(read.summary.ended);
}

TEST_F(Sdk, many_threads_record_into_one_window_while_it_opens_and_closes) {
  enable();
  std::atomic<bool> done{false};
  std::array<std::atomic<int>, 8> rounds{};
  std::vector<std::thread> threads;
  threads.reserve(rounds.size());
  for (std::atomic<int>& own : rounds) {
    threads.emplace_back([&] {
      static const Name kWork("threaded", category::kOp);
      const Number number("threaded_number");
      while (!done.load()) {
        {
          Scope scope(kWork);
          scope.shape("[[1]]", "f32");
        }
        number.record(1);
        ++own;
        ::usleep(200);
      }
    });
  }
  for (int window = 0; window < 3; ++window) {
    ASSERT_EQ(Runtime::capture(schedule(0, 20)), ACCEL_OK);
    step_until(ACCEL_STATE_ACTIVE);
    for (std::atomic<int>& own : rounds) {  // no step ends meanwhile, so the window stays open
      const int enough = own + 20;
      while (own < enough) ::usleep(1000);
    }
    step_until(ACCEL_STATE_IDLE);
    const Read read = read_capture(Runtime::newest_capture());
    EXPECT_EQ(read.threads.size(), 9U);
    EXPECT_GT(read.scopes.size(), 100U);
  }
  done.store(true);
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Sdk, options_of_an_older_and_of_a_newer_caller_are_taken) {
  Options older = options_;
  older.struct_size = offsetof(accel_options, rank);
  ASSERT_EQ(Runtime::enable(older), ACCEL_OK);
  Runtime::disable();
  ASSERT_EQ(Runtime::wait(10000), ACCEL_OK);
  struct Newer {
    accel_options known;
    std::uint64_t unknown[4];
  } newer{options_, {}};
  newer.known.struct_size = sizeof newer;
  ASSERT_EQ(accel_enable(&newer.known), ACCEL_OK);
  accel_step_info nonsense{};
  EXPECT_EQ(accel_step(&nonsense), ACCEL_INVALID_ARGUMENT);
  Schedule none = schedule(0, 0);
  EXPECT_EQ(Runtime::capture(none), ACCEL_INVALID_ARGUMENT);
}

// Resident bytes of this process.
double resident() {
  long pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (std::fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
  std::fclose(file);
  return static_cast<double>(pages) * 4096;
}

TEST_F(Sdk, millions_of_scopes_and_shapes_leave_memory_flat) {
  const std::int64_t scopes = std::getenv("ACCEL_LONG_TESTS") != nullptr ? 10'000'000 : 500'000;
  options_.max_capture_seconds = 600;
  options_.flags |= ACCEL_EXPERT;
  enable();
  Schedule without_promise = schedule(0, 1000000);
  without_promise.level = 3;
  ASSERT_EQ(Runtime::capture(without_promise), ACCEL_OK);
  step_until(ACCEL_STATE_ACTIVE);
  static const Name kWork("soak", category::kOp);
  const auto record = [&](std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      Scope scope(kWork);
      if (i % 16 == 0) scope.shape(("[[" + std::to_string(i) + ", 1024]]").c_str(), "bf16");
      if (i % 4096 == 0) ::usleep(2000);
    }
  };
  record(scopes / 5);
  const double before = resident();
  record(scopes / 5 * 4);
  EXPECT_LT(resident() - before, 4e6);
  Runtime::stop();
  ASSERT_EQ(Runtime::wait(60000), ACCEL_OK);
  Read read = read_capture(Runtime::newest_capture());
  EXPECT_GT(read.scopes.size(), 0U);
  EXPECT_EQ(read.scopes.size() + read.note_counts["dropped_records"], static_cast<std::size_t>(scopes));
}

TEST_F(Sdk, every_capture_says_what_it_cost_and_level_3_needs_a_flag) {
  enable();
  Schedule expert = schedule(0, 5);
  expert.level = 3;
  EXPECT_EQ(Runtime::capture(expert), ACCEL_INVALID_ARGUMENT);
  ASSERT_EQ(Runtime::capture(schedule(0, 300)), ACCEL_OK);
  step_until(ACCEL_STATE_ACTIVE);
  step_until(ACCEL_STATE_IDLE);
  const Read read = read_capture(Runtime::newest_capture());
  EXPECT_EQ(read.note_counts.at("cost"), 1U);
  EXPECT_GE(read.cost_percent, 0);
  EXPECT_LT(read.cost_percent, 8);
  EXPECT_EQ(read.cost_limit, 8);
}

// A program that spends its time in scopes of one name costs more than level 1 allows.
TEST_F(Sdk, a_window_that_costs_too_much_goes_on_without_the_scopes_that_are_too_many) {
  enable();
  Schedule cheap = schedule(0, 1000000);
  cheap.level = 1;
  ASSERT_EQ(Runtime::capture(cheap), ACCEL_OK);
  step_until(ACCEL_STATE_ACTIVE);
  static const Name kMany("too many", category::kOp);
  static const Name kRare("rare", category::kOp);
  bool recorded = true;
  for (int i = 0; i < 20000 && recorded && Runtime::state() == ACCEL_STATE_ACTIVE; ++i) {
    const Scope rare(kRare);
    for (int k = 0; k < 3000; ++k) {
      const Scope scope(kMany);
      recorded = scope.recorded();
    }
    Runtime::step();
  }
  EXPECT_FALSE(recorded) << "the name is muted";
  if (Runtime::state() == ACCEL_STATE_ACTIVE) {
    const Scope rare(kRare);
    EXPECT_TRUE(rare.recorded()) << "others are not";
  }
  Runtime::stop();
  ASSERT_EQ(Runtime::wait(20000), ACCEL_OK);
  const Read read = read_capture(Runtime::newest_capture());
  EXPECT_GE(read.note_counts.at("thinned"), 1U);
  EXPECT_EQ(read.cost_limit, 3);
}

}  // namespace
}  // namespace accel::profiler
