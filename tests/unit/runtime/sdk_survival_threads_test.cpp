// What the recorder must survive, and what the host must not notice.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <thread>
#include <type_traits>

#include "runtime/session/time_watch.h"
#include "unit/runtime/sdk.h"

namespace accel::profiler {
namespace {

TEST_F(Sdk, an_output_folder_that_cannot_be_written_costs_the_capture_and_nothing_else) {
  options_.output = "/proc/no/such/folder";
  enable();
  ASSERT_EQ(Runtime::capture(schedule(0, 2)), ACCEL_OK);
  ASSERT_EQ(Runtime::wait(10000), ACCEL_OK);
  EXPECT_EQ(Runtime::state(), ACCEL_STATE_IDLE);
  EXPECT_EQ(Runtime::newest_capture(), "");
  EXPECT_EQ(ask("status").find("error=0"), std::string::npos) << "the reason can be asked for";
  train(3);
}

TEST_F(Sdk, the_environment_switches_it_off) {
  ::setenv("ACCEL_PROFILER_DISABLE", "1", 1);
  EXPECT_EQ(Runtime::enable(options_), ACCEL_DISABLED);
  ::unsetenv("ACCEL_PROFILER_DISABLE");
  EXPECT_EQ(Runtime::state(), ACCEL_STATE_OFF);
  EXPECT_EQ(Runtime::step(), ACCEL_DISABLED);
  EXPECT_EQ(Runtime::capture(), ACCEL_DISABLED);
  EXPECT_EQ(Runtime::rule("loss < 1"), ACCEL_DISABLED);
  EXPECT_EQ(Runtime::mark("x"), ACCEL_DISABLED);
  train(3);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
}

TEST_F(Sdk, a_forked_child_is_silent_and_the_parent_goes_on) {
  enable();
  Runtime::capture(schedule(0, 40));
  step_until(ACCEL_STATE_ACTIVE);
  const pid_t child = ::fork();
  if (child == 0) {
    bool silent = Runtime::state() == ACCEL_STATE_OFF && accel_is_active() == 0 && Runtime::step() == ACCEL_DISABLED &&
                  Runtime::enable() == ACCEL_DISABLED && Runtime::capture() == ACCEL_DISABLED &&
                  Runtime::disable() == ACCEL_DISABLED;
    static const Name kChild("child", category::kOp);
    const Scope scope(kChild);
    ::raise(SIGUSR1);  // a stray signal does no harm
    ::_exit(silent && !scope.recorded() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  step_until(ACCEL_STATE_IDLE);
  const Read read = read_capture(Runtime::newest_capture());
  EXPECT_TRUE(read.summary.ended);
  EXPECT_EQ(read.steps.size(), 40U);
  EXPECT_EQ(captures().size(), 1U);
  EXPECT_NE(ask("status").find("ok"), std::string::npos) << "the socket is still there";
}

TEST_F(Sdk, a_full_disk_costs_records_that_are_counted_and_the_host_goes_on) {
  enable();
  ASSERT_EQ(Runtime::capture(schedule(0, 1000000)), ACCEL_OK);
  step_until(ACCEL_STATE_ACTIVE);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 6000;
  ::setrlimit(RLIMIT_FSIZE,
              &small);  // the signal of a write beyond it would end this process: the library must not get it
  static const Name kWork("work", category::kOp);
  for (int k = 0; k < 20; ++k) {
    for (int i = 0; i < 2000; ++i) const Scope scope(kWork);
    train(10);
  }
  ::usleep(1200000);
  ::setrlimit(RLIMIT_FSIZE, &before);
  Runtime::stop();
  ASSERT_EQ(Runtime::wait(20000), ACCEL_OK);
  const Read read = read_capture(Runtime::newest_capture());
  EXPECT_TRUE(read.summary.ended);
  EXPECT_EQ(read.summary.damaged_bytes, 0U);
  EXPECT_NE(std::find(read.notes.begin(), read.notes.end(), "write_failed"), read.notes.end());
}

TEST_F(Sdk, a_folder_that_vanishes_under_an_open_window_does_no_harm) {
  enable();
  ASSERT_EQ(Runtime::capture(schedule(0, 1000000)), ACCEL_OK);
  step_until(ACCEL_STATE_ACTIVE);
  std::filesystem::remove_all(output_);
  train(50);
  Runtime::stop();
  ASSERT_EQ(Runtime::wait(20000), ACCEL_OK);
  ASSERT_EQ(Runtime::capture(schedule(0, 3)), ACCEL_OK) << "the next one makes its folder again";
  step_until(ACCEL_STATE_ACTIVE);
  step_until(ACCEL_STATE_IDLE);
  EXPECT_EQ(captures().size(), 1U);
}

TEST_F(Sdk, a_process_that_ends_inside_a_window_leaves_a_whole_file) {
  const std::filesystem::path output = folder_ / "ends";
  const pid_t child = ::fork();
  if (child == 0) {
    Options options = options_;
    options.output = ::strdup(output.c_str());
    Runtime::enable(options);
    Runtime::capture(schedule(0, 1000000));
    for (int i = 0; i < 5000 && Runtime::state() != ACCEL_STATE_ACTIVE; ++i) train(1);
    train(20);
    std::exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(output)) {
    const Read read = read_capture(entry.path());
    EXPECT_TRUE(read.summary.ended);
    EXPECT_EQ(read.steps.size(), 20U);
    ++files;
  }
  EXPECT_EQ(files, 1);
}

TEST_F(Sdk, killed_at_any_moment_it_leaves_a_file_that_reads_up_to_the_last_second) {
  const char* many = std::getenv("ACCEL_LONG_TESTS");
  const int moments = many != nullptr ? 500 : 12;
  int with_steps = 0;
  for (int k = 0; k < moments; ++k) {
    const std::filesystem::path output = folder_ / ("killed" + std::to_string(k));
    const pid_t child = ::fork();
    if (child == 0) {
      // A process of its own: the parent is not enabled, so this child may be.
      Options options = options_;
      options.output = ::strdup(output.c_str());
      Runtime::enable(options);
      Schedule endless = schedule(0, 1000000);
      Runtime::capture(endless);
      for (;;) train(1);
    }
    ::usleep(static_cast<useconds_t>(60000 + k * 99991 % 1500000));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    std::error_code none_yet;
    for (const auto& entry : std::filesystem::directory_iterator(output, none_yet)) {
      const std::string bytes = format::bytes_of(entry.path());
      if (bytes.empty()) continue;  // between the making of the file and its header
      bool steps = false;
      const Result<NativeSummary> read = NativeReader::read(format::pull_from(bytes), [&](const NativeRows& rows) {
        steps = steps || (rows.table() == "step" && rows.size() > 0);
        return true;
      });
      ASSERT_TRUE(read.ok()) << read.error().message;
      EXPECT_FALSE(read->ended);
      EXPECT_EQ(read->damaged_bytes, 0U);
      with_steps += steps ? 1 : 0;
    }
  }
  EXPECT_GE(with_steps, 1) << "the later moments are long after the first flush";
}

// The library as others load it, in a process of its own.
std::string shared_library() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() /
          "libaccel_profiler_runtime.so.1")
      .string();
}

// Runs `body` in a child that has not enabled anything; its exit status.
template <typename Body>
int in_child(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    ::_exit(body());
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

struct Loaded {
  void* handle = nullptr;
  accel_status (*enable)(const accel_options*) = nullptr;
  accel_status (*disable)() = nullptr;
  accel_status (*wait)(uint32_t) = nullptr;
  accel_status (*step)(const accel_step_info*) = nullptr;
  accel_status (*capture)(const accel_schedule*) = nullptr;
  accel_state (*state)() = nullptr;

  explicit Loaded(const char* path) {
    handle = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return;
    const auto find = [&](const char* name, auto& function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    };
    find("accel_enable", enable);
    find("accel_disable", disable);
    find("accel_wait", wait);
    find("accel_step", step);
    find("accel_capture", capture);
    find("accel_runtime_state", state);
  }
};

TEST_F(Sdk, a_library_that_is_closed_stays_and_its_window_is_written) {
  if (!std::filesystem::exists(shared_library())) GTEST_SKIP() << "the shared library is not built";
  EXPECT_EQ(in_child([&] {
              const Loaded library(shared_library().c_str());
              if (library.handle == nullptr || library.enable(&options_) != ACCEL_OK) return 1;
              const Schedule endless = schedule(0, 1000000);
              library.capture(&endless);
              for (int i = 0; i < 5000 && library.state() != ACCEL_STATE_ACTIVE; ++i) {
                library.step(nullptr);
                ::usleep(1000);
              }
              ::dlclose(library.handle);
              for (int i = 0; i < 20; ++i) {
                library.step(nullptr);
                ::usleep(1000);
              }
              library.disable();
              return library.wait(20000) == ACCEL_OK ? 0 : 2;
            }),
            0);
  ASSERT_EQ(captures().size(), 1U);
  EXPECT_TRUE(read_capture(captures()[0]).summary.ended);
}

TEST_F(Sdk, a_second_copy_in_the_process_is_refused_while_the_first_is_on) {
  if (!std::filesystem::exists(shared_library())) GTEST_SKIP() << "the shared library is not built";
  EXPECT_EQ(in_child([&] {
              if (Runtime::enable(options_) != ACCEL_OK) return 1;
              const Loaded second(shared_library().c_str());
              if (second.handle == nullptr) return 2;
              accel_options no_socket = options_;
              no_socket.flags |= ACCEL_NO_SOCKET;
              if (second.enable(&options_) != ACCEL_BUSY || second.enable(&no_socket) != ACCEL_BUSY) return 3;
              if (second.step(nullptr) != ACCEL_DISABLED) return 4;
              Runtime::disable();
              if (Runtime::wait(10000) != ACCEL_OK) return 5;
              if (second.enable(&options_) != ACCEL_OK) return 6;
              second.disable();
              return second.wait(10000) == ACCEL_OK ? 0 : 7;
            }),
            0);
}

TEST_F(Sdk, a_process_that_was_stopped_says_so_and_its_steps_are_there) {
  const pid_t child = ::fork();
  if (child == 0) {
    Runtime::enable(options_);
    Runtime::capture(schedule(0, 1000000));
    for (int i = 0; i < 5000 && Runtime::state() != ACCEL_STATE_ACTIVE; ++i) train(1);
    train(50);
    ::raise(SIGSTOP);
    train(50);
    Runtime::disable();
    ::_exit(Runtime::wait(20000) == ACCEL_OK ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  ::usleep(2600000);
  ::kill(child, SIGCONT);
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  ASSERT_EQ(captures().size(), 1U);
  const Read read = read_capture(captures()[0]);
  EXPECT_EQ(read.note_counts.count("suspended"), 1U);
  EXPECT_EQ(read.steps.size(), 100U);
}

TEST_F(Sdk, processes_of_one_number_in_two_pid_namespaces_do_not_take_each_other_for_copies) {
  const int status = in_child([&] {
    if (::unshare(CLONE_NEWPID) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) return 77;
    return in_child([&] {  // number 1 of a namespace of its own
      if (::getpid() != 1) return 77;
      if (Runtime::enable(options_) != ACCEL_OK) return 1;
      const int other = in_child([] { return 0; });
      Runtime::capture(schedule(0, 3));
      for (int i = 0; i < 5000 && Runtime::newest_capture().empty(); ++i) train(1);
      for (int i = 0; i < 5000 && Runtime::state() != ACCEL_STATE_IDLE; ++i) train(1);
      return other != 0 || Runtime::newest_capture().find("pid1-") == std::string::npos ? 2 : 0;
    });
  });
  if (status == 77) GTEST_SKIP() << "PID namespaces are not allowed here";
  EXPECT_EQ(status, 0);
  // A lock of number 1 that another namespace holds.
  const std::string folder = (folder_ / "run").string();
  std::filesystem::create_directories(folder);
  ::chmod(folder.c_str(), 0700);
  const int held = ::open((folder + "/1.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::flock(held, LOCK_EX | LOCK_NB), 0);
  ASSERT_EQ(::write(held, "4242\n", 5), 5);
  const int second = in_child([&] {
    if (::unshare(CLONE_NEWPID) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) return 77;
    return in_child([&] { return Runtime::enable(options_) == ACCEL_OK ? 0 : 1; });
  });
  EXPECT_EQ(second, 0);
  ::close(held);
}

TEST_F(Sdk, a_process_that_becomes_another_program_leaves_a_file_that_reads) {
  const pid_t child = ::fork();
  if (child == 0) {
    Runtime::enable(options_);
    Runtime::capture(schedule(0, 1000000));
    for (int i = 0; i < 5000 && Runtime::state() != ACCEL_STATE_ACTIVE; ++i) train(1);
    train(20);
    ::execl("/bin/sh", "sh", "-c", "test -z \"$(ls -l /proc/self/fd | grep accel)\"", nullptr);
    ::_exit(3);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "no descriptor of ours is inherited";
  ASSERT_EQ(captures().size(), 1U);
  const Read read = read_capture(captures()[0]);
  EXPECT_FALSE(read.summary.ended);
  EXPECT_EQ(read.summary.damaged_bytes, 0U);
}

// Runs after the library's own end of the process; calls of the host still come then.
bool g_calls_at_the_end = false;
__attribute__((destructor(101))) void calls_at_the_very_end() {
  if (!g_calls_at_the_end) return;
  static const Name kLate("late", category::kOp);
  const Scope scope(kLate);
  Runtime::step();
  Runtime::mark("late");
  Runtime::capture();
  Runtime::rule("loss < 1");
  accel_record(accel_number_of("late_number"), 1);
  Runtime::disable();
  Runtime::wait(10);
}

TEST_F(Sdk, calls_after_the_end_of_the_library_and_threads_that_outlive_main_do_no_harm) {
  const pid_t child = ::fork();
  if (child == 0) {
    g_calls_at_the_end = true;
    Runtime::enable(options_);
    Runtime::capture(schedule(0, 1000000));
    for (int i = 0; i < 5000 && Runtime::state() != ACCEL_STATE_ACTIVE; ++i) train(1);
    std::thread([] {
      static const Name kBeside("beside", category::kOp);
      for (;;) const Scope scope(kBeside);
    }).detach();
    train(10);
    std::exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  ASSERT_EQ(captures().size(), 1U);
  EXPECT_TRUE(read_capture(captures()[0]).summary.ended);
}

TEST(TimeWatch, a_long_gap_is_a_stand_still_and_a_moved_clock_was_set) {
  runtime::TimeWatch watch;
  constexpr std::int64_t kMs = 1'000'000;
  watch.begin(0, 1000 * kMs);
  EXPECT_EQ(watch.look(10 * kMs, 1010 * kMs).set_by_ns, 0);
  EXPECT_EQ(watch.look(20 * kMs, 1021 * kMs).set_by_ns, 0) << "a clock that is slewed";
  EXPECT_EQ(watch.look(30 * kMs, 4031 * kMs).set_by_ns, 3001 * kMs);
  EXPECT_EQ(watch.look(40 * kMs, 4041 * kMs).set_by_ns, 0) << "told once";
  EXPECT_EQ(watch.look(50 * kMs, 1050 * kMs).set_by_ns, -3001 * kMs);
  const auto seen = watch.look(5050 * kMs, 6050 * kMs);
  EXPECT_EQ(seen.stood_still_ns, 5000 * kMs);
  EXPECT_EQ(seen.set_by_ns, 0);
}

}  // namespace
}  // namespace accel::profiler
