// The session through its C ABI, for tests: one recorder in a process, so every test switches it on and off again.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "accel/profiler/runtime.h"
#include "format/native_reader.h"
#include "format/tick_clock.h"
#include "unit/format/native_files.h"

namespace accel::profiler {

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
  std::vector<std::int64_t> curve;  // first steps of the rows
  std::uint64_t curve_steps = 0;
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
  double cost_percent = -1;
  double cost_limit = -1;
};

inline Read read_capture(const std::string& path) {
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
      if (rows.table() == "curve") {
        out.curve.push_back(rows.column("step").i64(row));
        out.curve_steps += rows.column("steps").u64(row);
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
      if (rows.table() == "cost") {
        out.cost_percent = rows.column("percent").f64(row);
        out.cost_limit = rows.column("limit_percent").f64(row);
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
    for (const auto& entry : std::filesystem::directory_iterator(output_, ignored)) {
      if (entry.path().extension() == ".accel") found.push_back(entry.path());
    }
    return found;
  }
  // The only record of a run in the output folder.
  std::string run_record() const {
    std::string found;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(output_, ignored)) {
      if (entry.path().extension() == ".accelrun") found = entry.path();
    }
    return found;
  }

  format::TemporaryFolder folder_;
  std::string output_;
  Options options_;
};

}  // namespace accel::profiler
