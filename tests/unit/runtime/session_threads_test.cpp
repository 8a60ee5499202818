// The session through its C ABI: one recorder in a process, so every test switches it on and off again.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "accel/profiler/runtime.h"
#include "format/native_reader.h"
#include "format/tick_clock.h"
#include "unit/format/native_files.h"

namespace accel::profiler {
namespace {

using format::NativeReader;
using format::NativeRows;
using format::NativeSummary;

struct Read {
  NativeSummary summary;
  std::map<std::string, std::vector<std::string>> columns;  // scope names in order, by table
  std::map<std::string, std::string> meta;
  std::vector<std::string> scopes;
  std::vector<double> scope_ms;
  std::vector<std::int64_t> steps;
  std::vector<double> losses;
  std::vector<std::string> marks;
  std::vector<std::string> notes;
  std::map<std::string, std::uint64_t> note_counts;
  std::map<std::string, std::vector<double>> counters;
  std::map<std::string, std::string> sources;  // of counters
  std::set<std::uint64_t> threads;
  std::string ended_by;
  std::string asked_by;
  std::string shape;
  std::uint64_t unfinished = 0;
};

Read read_capture(const std::string& path) {
  Read out;
  const std::string bytes = format::bytes_of(path);
  std::map<std::uint64_t, std::string> names;
  std::map<std::uint64_t, std::string> counter_names;
  std::vector<format::TickClock::Pair> pairs;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> times;
  const Result<NativeSummary> read = NativeReader::read(format::pull_from(bytes), [&](const NativeRows& rows) {
    const auto text = [&](const char* column, std::uint32_t row) { return std::string(rows.column(column).text(row)); };
    for (std::uint32_t row = 0; row < rows.size(); ++row) {
      if (rows.table() == "meta") out.meta[text("key", row)] = text("value", row);
      if (rows.table() == "name") names[rows.column("id").u64(row)] = text("name", row);
      if (rows.table() == "clock")
        pairs.push_back({rows.column("ticks").u64(row), rows.column("realtime_ns").i64(row),
                         rows.column("monotonic_ns").i64(row), 0});
      if (rows.table() == "scope") {
        EXPECT_EQ(names.count(rows.column("name").u64(row)), 1U) << "names come before scopes";
        out.scopes.push_back(names[rows.column("name").u64(row)]);
        out.threads.insert(rows.column("thread").u64(row));
        times.emplace_back(rows.column("begin").u64(row), rows.column("end").u64(row));
        if (times.back().second == format::kNoU64) ++out.unfinished;
      }
      if (rows.table() == "step") {
        out.steps.push_back(rows.column("step").i64(row));
        out.losses.push_back(rows.column("loss").f64(row));
      }
      if (rows.table() == "mark") out.marks.push_back(text("label", row));
      if (rows.table() == "note") {
        out.notes.push_back(text("code", row));
        out.note_counts[text("code", row)] += rows.column("count").u64(row);
      }
      if (rows.table() == "counter_info") {
        counter_names[rows.column("id").u64(row)] = text("name", row);
        out.sources[text("name", row)] = text("source", row);
      }
      if (rows.table() == "counter") {
        EXPECT_EQ(counter_names.count(rows.column("id").u64(row)), 1U) << "what a counter is comes before its samples";
        out.counters[counter_names[rows.column("id").u64(row)]].push_back(rows.column("value").f64(row));
      }
      if (rows.table() == "args") out.shape = text("shape", row);
      if (rows.table() == "window") {
        out.ended_by = text("ended_by", row);
        out.asked_by = text("asked_by", row);
      }
    }
    return true;
  });
  EXPECT_TRUE(read.ok());
  if (read) out.summary = *read;
  const format::TickClock clock(pairs, std::strtoull(out.meta["tick_hz"].c_str(), nullptr, 10));
  for (const auto& [begin, end] : times)
    out.scope_ms.push_back(static_cast<double>(clock.to_ns(end) - clock.to_ns(begin)) * 1e-6);
  return out;
}

class Sdk : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("ACCEL_PROFILER_RUNTIME_DIR", (folder_ / "run").c_str(), 1);
    for (const char* name : {"RANK", "WORLD_SIZE", "SLURM_PROCID", "SLURM_JOB_ID", "OMPI_COMM_WORLD_RANK"})
      ::unsetenv(name);
    output_ = folder_ / "captures";
    options_.output = output_.c_str();
    options_.rank = 3;
  }
  void TearDown() override {
    Runtime::disable();
    EXPECT_EQ(Runtime::wait(20000), ACCEL_OK);
    EXPECT_EQ(Runtime::state(), ACCEL_STATE_OFF);
  }
  void enable() { ASSERT_EQ(Runtime::enable(options_), ACCEL_OK); }
  static Schedule schedule(std::uint32_t warmup, std::uint32_t active) {
    Schedule s;
    s.warmup = warmup;
    s.active = active;
    s.steady_wait = 0;
    return s;
  }
  // Steps with one scope each until the window is over; at most `limit`.
  int train(int limit, double loss = 1) {
    static const Name kWork("work", category::kOp);
    int steps = 0;
    for (; steps < limit; ++steps) {
      {
        const Scope scope(kWork);
        ::usleep(1000);
      }
      Step step;
      step.loss = loss;
      Runtime::step(step);
    }
    return steps;
  }
  // Marks steps until the state is reached.
  void step_until(accel_state state) {
    for (int i = 0; i < 20000 && Runtime::state() != state; ++i) train(1);
    ASSERT_EQ(Runtime::state(), state);
  }
  std::string ask(const std::string& request) {
    const int client = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = (folder_ / "run").string() + "/" + std::to_string(::getpid()) + ".sock";
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    std::string reply;
    if (::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      const std::string line = request + "\n";
      (void)!::send(client, line.data(), line.size(), MSG_NOSIGNAL);
      char buffer[4096];
      const ssize_t got = ::recv(client, buffer, sizeof buffer, 0);
      if (got > 0) reply.assign(buffer, static_cast<std::size_t>(got));
    }
    ::close(client);
    return reply;
  }
  std::vector<std::string> captures() const {
    std::vector<std::string> found;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(output_, ignored)) found.push_back(entry.path());
    return found;
  }

  format::TemporaryFolder folder_;
  std::string output_;
  Options options_;
};

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

TEST_F(Sdk, a_rule_over_a_sampled_number_starts_its_sampler) {
  enable();
  ASSERT_EQ(Runtime::rule("minor_faults > 0 => capture_next_steps(2)"), ACCEL_OK);
  for (int i = 0; i < 5000 && Runtime::newest_capture().empty(); ++i) train(1);
  const std::string first = Runtime::newest_capture();  // the rule holds on and may open the next window any time
  step_until(ACCEL_STATE_WATCHING);
  EXPECT_GE(read_capture(first).steps.size(),
            2U);  // two periods of a cycle, where the noise of a loaded machine looks like one
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
  enable();
  Runtime::capture(schedule(0, 1000000));
  step_until(ACCEL_STATE_ACTIVE);
  static const Name kShort("short", category::kOp);
  for (int i = 0; i < 100000 && Runtime::state() == ACCEL_STATE_ACTIVE; ++i) {
    for (int k = 0; k < 500; ++k) const Scope scope(kShort);
    train(1);
  }
  ASSERT_EQ(Runtime::wait(10000), ACCEL_OK);
  EXPECT_EQ(read_capture(Runtime::newest_capture()).ended_by, "bytes");
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

TEST_F(Sdk, many_threads_record_into_one_window_while_it_opens_and_closes) {
  enable();
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      static const Name kWork("threaded", category::kOp);
      const Number number("threaded_number");
      while (!done.load()) {
        {
          Scope scope(kWork);
          scope.shape("[[1]]", "f32");
        }
        number.record(1);
        ::usleep(200);
      }
    });
  }
  for (int window = 0; window < 3; ++window) {
    ASSERT_EQ(Runtime::capture(schedule(1, 20)), ACCEL_OK);
    step_until(ACCEL_STATE_ACTIVE);
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
  enable();
  ASSERT_EQ(Runtime::capture(schedule(0, 1000000)), ACCEL_OK);
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
      const Result<NativeSummary> read =
          NativeReader::read(format::pull_from(bytes), [](const NativeRows&) { return true; });
      ASSERT_TRUE(read.ok()) << read.error().message;
      EXPECT_FALSE(read->ended);
      EXPECT_EQ(read->damaged_bytes, 0U);
      EXPECT_GE(read->chunks, 2U);
    }
  }
}

}  // namespace
}  // namespace accel::profiler
