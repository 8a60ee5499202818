// What wakes the recorder: rules, signal, socket, the environment.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "unit/runtime/sdk.h"

namespace accel::profiler {
namespace {

TEST_F(Sdk, a_rule_over_a_sampled_number_starts_its_sampler) {
  enable();
  ASSERT_EQ(Runtime::rule("minor_faults > 0 => capture_next_steps(2)"), ACCEL_OK);
  for (int i = 0; i < 5000 && Runtime::newest_capture().empty(); ++i) train(1);
  const std::string first = Runtime::newest_capture();  // the rule holds on and may open the next window any time
  step_until(ACCEL_STATE_WATCHING);
  EXPECT_GE(read_capture(first).steps.size(),
            2U);  // two periods of a cycle, where the noise of a loaded machine looks like one
}

TEST_F(Sdk, the_signal_wakes_it_when_its_disposition_was_the_default) {
  enable();
  train(3);
  ::kill(::getpid(), SIGUSR1);
  step_until(ACCEL_STATE_ACTIVE);
  step_until(ACCEL_STATE_IDLE);
  EXPECT_EQ(read_capture(Runtime::newest_capture()).asked_by, "signal");
  Runtime::disable();
  ASSERT_EQ(Runtime::wait(10000), ACCEL_OK);
  struct sigaction now{};
  ::sigaction(SIGUSR1, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL) << "given back";
}

void of_the_host(int) {}

TEST_F(Sdk, a_handler_of_the_host_is_never_replaced_and_slurm_keeps_its_signal) {
  ::signal(SIGUSR1, of_the_host);
  enable();
  struct sigaction now{};
  ::sigaction(SIGUSR1, nullptr, &now);
  EXPECT_EQ(now.sa_handler, of_the_host);
  Runtime::disable();
  ASSERT_EQ(Runtime::wait(10000), ACCEL_OK);
  ::sigaction(SIGUSR1, nullptr, &now);
  EXPECT_EQ(now.sa_handler, of_the_host);
  ::signal(SIGUSR1, SIG_DFL);
  ::setenv("SLURM_JOB_ID", "1", 1);
  enable();
  ::sigaction(SIGUSR1, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
  ::unsetenv("SLURM_JOB_ID");
}

TEST_F(Sdk, the_socket_answers_status_captures_and_rules) {
  enable();
  train(2);
  EXPECT_NE(ask("status").find("ok state=IDLE steps=2"), std::string::npos) << ask("status");
  EXPECT_NE(ask("nonsense").find("error: requests are"), std::string::npos);
  EXPECT_NE(ask("capture steps=0").find("out of range"), std::string::npos);
  EXPECT_NE(ask("capture output=/etc").find("no setting"), std::string::npos);
  EXPECT_NE(ask("rule loss =").find("column"), std::string::npos);
  EXPECT_EQ(ask("rule loss < 0 => mark('x')"), "ok\n");
  EXPECT_EQ(Runtime::state(), ACCEL_STATE_WATCHING);
  EXPECT_EQ(ask("capture steps=2 warmup=0 steady=0"), "ok\n");
  EXPECT_NE(ask("capture").find("error: a window"), std::string::npos);
  step_until(ACCEL_STATE_ACTIVE);
  step_until(ACCEL_STATE_WATCHING);
  EXPECT_EQ(read_capture(Runtime::newest_capture()).asked_by, "socket");
  struct stat info{};
  ASSERT_EQ(::stat((folder_ / "run").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700U);
}

TEST_F(Sdk, a_socket_folder_that_others_can_write_is_not_used) {
  std::filesystem::create_directory(folder_ / "run");
  ::chmod((folder_ / "run").c_str(), 0777);
  enable();
  EXPECT_EQ(ask("status"), "");
  EXPECT_EQ(Runtime::state(), ACCEL_STATE_IDLE) << "the rest works";
}

TEST_F(Sdk, a_rule_wakes_it_from_inside) {
  enable();
  ASSERT_EQ(Runtime::rule("stable(loss, 1e-3, 5) => capture_next_steps(3)"), ACCEL_OK);
  EXPECT_EQ(Runtime::state(), ACCEL_STATE_WATCHING);
  for (int i = 0; i < 8; ++i) train(1, 10 - i);
  EXPECT_EQ(Runtime::state(), ACCEL_STATE_WATCHING);
  for (int i = 0; i < 20000 && Runtime::newest_capture().empty(); ++i) train(1, 0.5);
  step_until(ACCEL_STATE_WATCHING);
  const Read read = read_capture(Runtime::newest_capture());
  EXPECT_EQ(read.asked_by, "stable(loss, 1e-3, 5) => capture_next_steps(3)");
  EXPECT_EQ(read.steps.size(), 3U);
  EXPECT_EQ(accel_rules_clear(), ACCEL_OK);
  EXPECT_EQ(Runtime::state(), ACCEL_STATE_IDLE);
}

TEST_F(Sdk, rules_come_from_the_file_that_the_environment_names) {
  const std::string path = folder_ / "my.rules";
  std::FILE* file = std::fopen(path.c_str(), "w");
  std::fputs("# mine\nloss < 0 => mark('x')\nloss is low\nstep > 1e9\n", file);
  std::fclose(file);
  ::setenv("ACCEL_PROFILER_RULES", path.c_str(), 1);
  enable();
  ::unsetenv("ACCEL_PROFILER_RULES");
  EXPECT_EQ(Runtime::state(), ACCEL_STATE_WATCHING);
  EXPECT_NE(ask("status").find("rules=2 bad_rule_line=3"), std::string::npos) << ask("status");
}

TEST_F(Sdk, what_it_cannot_do_itself_goes_to_the_action_handler) {
  enable();
  static std::atomic<int> dumps{0};
  static std::string target;
  accel_on_action(
      [](std::uint32_t action, const char* text, int global, void*) {
        if (action == ACCEL_ACTION_NOTIFY) target = text;
        if (action == ACCEL_ACTION_DUMP_STACKS && global == 1) dumps.fetch_add(1);
      },
      nullptr);
  Runtime::rule("step == 3 => notify('file:a')");
  Runtime::rule("step == 5 => dump_stacks() @global");
  for (int i = 0; i < 5000 && dumps.load() == 0; ++i) train(1);
  accel_on_action(nullptr, nullptr);
  EXPECT_EQ(dumps.load(), 1);
  EXPECT_EQ(target, "file:a");
}

TEST_F(Sdk, while_it_watches_every_step_is_in_the_record_of_the_run_and_in_its_captures) {
  options_.flags |= ACCEL_WATCH;
  enable();
  EXPECT_EQ(Runtime::state(), ACCEL_STATE_WATCHING) << "without any rule";
  ::usleep(20000);
  train(300, 3);
  ASSERT_EQ(Runtime::capture(schedule(0, 5)), ACCEL_OK);
  step_until(ACCEL_STATE_ACTIVE);
  step_until(ACCEL_STATE_WATCHING);
  const Read capture = read_capture(Runtime::newest_capture());
  EXPECT_GE(capture.curve_steps, 299U) << "the first mark begins the first step";
  ASSERT_FALSE(capture.steps.empty());
  EXPECT_EQ(capture.curve.front(), 1);
  accel_rules_clear();
  EXPECT_EQ(Runtime::state(), ACCEL_STATE_WATCHING) << "it was asked to watch";
  train(20);
  Runtime::disable();
  ASSERT_EQ(Runtime::wait(10000), ACCEL_OK);
  const Read run = read_capture(run_record());
  EXPECT_TRUE(run.summary.ended);
  EXPECT_GT(run.curve_steps, capture.curve_steps);
  EXPECT_EQ(run.meta.at("rank"), "3");
  ASSERT_EQ(run.marks.size(), 1U);
  EXPECT_EQ(run.marks[0].rfind("capture ", 0), 0U);
}

TEST_F(Sdk, asleep_it_keeps_no_record_and_a_rule_that_goes_ends_it) {
  enable();
  train(5);
  EXPECT_EQ(run_record(), "");
  ASSERT_EQ(Runtime::rule("loss < 0 => mark('never')"), ACCEL_OK);
  for (int i = 0; i < 60000 && run_record().empty(); ++i) ::usleep(1000);
  train(30);
  ASSERT_EQ(accel_rules_clear(), ACCEL_OK);
  for (int i = 0; i < 2000 && (run_record().empty() || !read_capture(run_record()).summary.ended); ++i) ::usleep(1000);
  const Read run = read_capture(run_record());
  EXPECT_TRUE(run.summary.ended);
  EXPECT_GE(run.curve_steps, 30U);
}

TEST_F(Sdk, an_action_that_nobody_can_carry_out_is_said_in_the_capture_and_stacks_become_a_file) {
  enable();
  ASSERT_EQ(Runtime::rule("step == 2 => capture_memory_stack()"), ACCEL_OK);
  ASSERT_EQ(Runtime::rule("step == 3 => dump_stacks()"), ACCEL_OK);
  ASSERT_EQ(Runtime::rule("step == 4 => notify('command:true')"), ACCEL_OK);
  ASSERT_EQ(Runtime::rule("step == 5 => notify('file:alerts.txt')"), ACCEL_OK);
  // Steps are counted for the life of the process.
  for (int i = 0; i < 5000 && !std::filesystem::exists(output_ + "/alerts.txt"); ++i) train(1);
  ASSERT_EQ(Runtime::capture(schedule(0, 2)), ACCEL_OK);
  step_until(ACCEL_STATE_ACTIVE);
  step_until(ACCEL_STATE_WATCHING);
  const Read read = read_capture(Runtime::newest_capture());
  EXPECT_EQ(read.note_counts.at("action"), 3U);
  int stacks = 0;
  for (const auto& entry : std::filesystem::directory_iterator(output_)) {
    if (entry.path().filename().string().find("-stacks") == std::string::npos) continue;
    const std::string text = format::bytes_of(entry.path());
    EXPECT_NE(text.find("accel-control: state"), std::string::npos) << text;
    EXPECT_NE(text.find("VmRSS:"), std::string::npos) << text;
    ++stacks;
  }
  EXPECT_EQ(stacks, 2) << "the memory's file has them too";
}

// Waits in the kernel until the pipe has a byte.
__attribute__((noinline)) int accel_test_waits_in_a_named_function(int pipe) {
  char byte = 0;
  const ssize_t got = ::read(pipe, &byte, 1);
  return static_cast<int>(got) + byte;  // not the last thing it does: a tail call would leave no frame
}

TEST_F(Sdk, dumped_stacks_have_the_calls_of_threads_that_wait_and_say_so_of_threads_that_run) {
  const int shown = ::open("/proc/thread-self/syscall", O_RDONLY | O_CLOEXEC);
  char first = 0;
  const bool system_shows = shown >= 0 && ::read(shown, &first, 1) == 1;
  ::close(shown);
  enable();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  std::atomic<bool> spin{true};
  std::atomic<int> told{0};
  std::atomic<pid_t> waiter{0};
  std::atomic<bool> spins{false};
  std::thread waiting([&] {
    waiter = static_cast<pid_t>(::syscall(SYS_gettid));
    told = accel_test_waits_in_a_named_function(ends[0]);
  });
  std::thread running([&] {
    ::prctl(PR_SET_NAME, "spins");
    spins = true;
    while (spin.load()) {
    }
  });
  // On a busy machine the threads may come to their places long after they were started.
  const auto is_reading = [&] {
    const std::string at = "/proc/self/task/" + std::to_string(waiter.load()) + "/syscall";
    const int call = ::open(at.c_str(), O_RDONLY | O_CLOEXEC);
    char number[8] = {};  // or "running"
    const bool known = ::read(call, number, sizeof number - 1) > 0;
    ::close(call);
    return known && number[0] != 'r' && std::atoi(number) == SYS_read;
  };
  while (system_shows && !(spins && is_reading())) ::usleep(1000);
  ASSERT_EQ(Runtime::rule("step >= 0 => dump_stacks()"), ACCEL_OK);
  std::string text;
  for (int i = 0; i < 5000 && text.find("open scopes") == std::string::npos; ++i) {
    train(1);
    std::error_code none_yet;
    for (const auto& entry : std::filesystem::directory_iterator(output_, none_yet)) {
      if (entry.path().filename().string().find("-stacks") != std::string::npos) text = format::bytes_of(entry.path());
    }
  }
  spin = false;
  (void)!::write(ends[1], "x", 1);
  waiting.join();
  running.join();
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_EQ(told, 1 + 'x') << "the thread was neither stopped nor interrupted";
  if (!system_shows) GTEST_SKIP() << "this system has no /proc/PID/task/TID/syscall";
  EXPECT_NE(text.find("accel_test_waits_in_a_named_function"), std::string::npos) << text;
  EXPECT_NE(text.find("it runs: its calls are not known"), std::string::npos) << text;
  EXPECT_NE(text.find("some may be left over"), std::string::npos) << text;
}

struct Asked {
  std::atomic<std::int64_t> answer{0};
  std::atomic<int> delay_ms{0};
  std::atomic<std::int64_t> proposed{0};
};

std::int64_t agree(std::int64_t proposed_step, std::uint32_t /*steps*/, const char* /*rule*/, std::uint32_t limit_ms,
                   void* context) {
  auto& asked = *static_cast<Asked*>(context);
  EXPECT_GT(limit_ms, 0U);
  ::usleep(static_cast<useconds_t>(asked.delay_ms.load()) * 1000);
  asked.proposed.store(proposed_step);
  return asked.answer.load() < 0 ? asked.answer.load() : proposed_step;
}

TEST_F(Sdk, a_global_rule_begins_at_the_step_that_the_ranks_agreed_on) {
  static Asked asked;
  options_.world_size = 2;
  enable();
  ASSERT_EQ(accel_on_agreement(agree, &asked), ACCEL_OK);
  ASSERT_EQ(Runtime::rule("loss > 5 => capture_next_steps(3) @global"), ACCEL_OK);
  train(3, 9);
  for (int i = 0; i < 60000 && Runtime::newest_capture().empty(); ++i) train(1, 1);
  step_until(ACCEL_STATE_WATCHING);
  const Read read = read_capture(Runtime::newest_capture());
  ASSERT_EQ(read.steps.size(), 3U);
  EXPECT_EQ(read.steps.front(), asked.proposed.load());
  accel_on_agreement(nullptr, nullptr);
}

TEST_F(Sdk, ranks_that_do_not_agree_record_nothing_and_a_rank_alone_says_so) {
  static Asked asked;
  asked.answer.store(-1);
  options_.world_size = 2;
  enable();
  ASSERT_EQ(accel_on_agreement(agree, &asked), ACCEL_OK);
  ASSERT_EQ(Runtime::rule("loss > 5 => capture_next_steps(3) @global cooldown=0"), ACCEL_OK);
  train(3, 9);
  for (int i = 0; i < 5000 && asked.proposed.load() == 0; ++i) train(1, 1);
  train(50, 1);
  EXPECT_EQ(Runtime::state(), ACCEL_STATE_WATCHING);
  EXPECT_TRUE(captures().empty());
  accel_on_agreement(nullptr, nullptr);
  train(3, 9);
  for (int i = 0; i < 20000 && Runtime::newest_capture().empty(); ++i) train(1, 1);
  step_until(ACCEL_STATE_WATCHING);
  EXPECT_EQ(read_capture(Runtime::newest_capture()).note_counts.at("no_agreement"), 2U) << "the refusal, and alone now";
}

TEST_F(Sdk, a_handler_that_hangs_is_not_heard_and_nothing_waits_for_it) {
  static Asked asked;
  asked.delay_ms.store(3500);
  options_.world_size = 2;
  enable();
  ASSERT_EQ(accel_on_agreement(agree, &asked), ACCEL_OK);
  ASSERT_EQ(Runtime::rule("loss > 5 => capture_next_steps(3) @global"), ACCEL_OK);
  train(3, 9);
  EXPECT_NE(ask("status").find("WATCHING"), std::string::npos) << "the control thread answers meanwhile";
  for (int i = 0; i < 60000 && asked.proposed.load() == 0; ++i) train(1, 1);
  train(100, 1);
  EXPECT_TRUE(captures().empty());
  accel_on_agreement(nullptr, nullptr);
}

}  // namespace
}  // namespace accel::profiler
