// The start of the session, where recorders of others have crashed jobs at random: many threads at once, and a system
// that has nothing to give. (Case 118: the start is one path, one thread, and fails closed.)
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "unit/runtime/sdk.h"

namespace accel::profiler {
namespace {

int control_threads() {
  int found = 0;
  std::error_code gone;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", gone)) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name.rfind("accel-control", 0) == 0) ++found;
  }
  return found;
}

TEST_F(Sdk, threads_that_switch_it_on_at_once_get_one_session_and_its_first_requests_find_it_whole) {
  constexpr int kRounds = 20;
  constexpr int kThreads = 8;
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<int> ready{0};
    std::atomic<int> good{0};
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        ++ready;
        while (ready.load() < kThreads) std::this_thread::yield();
        const bool on = Runtime::enable(options_) == ACCEL_OK;  // the signal, the socket and the rules may come at once
        if (on) ::raise(SIGUSR1);
        if (on && ask("status").rfind("ok state=", 0) == 0) ++good;
        Runtime::capture(schedule(0, 1));
        accel_name_of("op", "first");
        Runtime::rule("loss < 0");
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(good, kThreads);
    for (int i = 0; i < 1000 && control_threads() != 1; ++i) ::usleep(1000);  // the last round's is ending
    EXPECT_EQ(control_threads(), 1);
    Runtime::disable();
    ASSERT_EQ(Runtime::wait(20000), ACCEL_OK);
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(Sdk, a_start_that_gets_no_descriptor_or_thread_leaves_nothing_behind_and_works_later) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    const auto is_off = [&] {
      return Runtime::state() == ACCEL_STATE_OFF && Runtime::step() == ACCEL_DISABLED &&
             Runtime::capture() == ACCEL_DISABLED;
    };
    rlimit before{};
    ::getrlimit(RLIMIT_AS, &before);
    const rlimit little = {1 << 20, before.rlim_max};  // not for a thread's stack; first, because stacks are kept
    ::setrlimit(RLIMIT_AS, &little);
    const accel_status refused = Runtime::enable(options_);
    ::setrlimit(RLIMIT_AS, &before);
    if (refused != ACCEL_NO_RESOURCES || !is_off()) ::_exit(3);
    ::getrlimit(RLIMIT_NOFILE, &before);
    for (rlim_t allowed = 0; allowed < 12; ++allowed) {
      const rlimit few = {allowed, before.rlim_max};
      ::setrlimit(RLIMIT_NOFILE, &few);
      const accel_status status = Runtime::enable(options_);
      ::setrlimit(RLIMIT_NOFILE, &before);
      if (status != ACCEL_OK && !is_off()) ::_exit(1);
      Runtime::disable();
      if (Runtime::wait(20000) != ACCEL_OK) ::_exit(2);
    }
    if (Runtime::enable(options_) != ACCEL_OK || ask("status").rfind("ok state=IDLE", 0) != 0) ::_exit(4);
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}
#endif

}  // namespace
}  // namespace accel::profiler
