// What a scope costs: with no window open, with one open, against a Tracy-style zone and pairs of plain clock reads in
// the same run; also a step mark while IDLE. Proves that the scopes of a window arrive before it prints p50 and p99
// over blocks, and of single ones (whose own measurement, two reads of the clock, is in the figure). --json for run.py.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "accel/profiler/runtime.h"
#include "format/native_reader.h"
#include "hot_path/tracy_style.h"
#include "runtime/buffer/clock.h"

namespace {

using accel::profiler::Name;
using accel::profiler::Options;
using accel::profiler::Runtime;
using accel::profiler::Schedule;
using accel::profiler::Scope;

constexpr int kBlock = 200;  // scopes timed together: the timer's own cost vanishes
constexpr int kBlocks = 4000;
constexpr int kSingles = 100000;
constexpr int kPauseUs = 40000;

std::int64_t now_ns() { return accel::runtime::monotonic_ns(); }

struct Figures {
  double p50;
  double p99;
};

Figures figures(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values[values.size() * 99 / 100]};
}

// Per call, over blocks.
template <typename Call>
Figures blocks(Call&& call, int pause_every = 0) {
  std::vector<double> costs;
  for (int b = 0; b < kBlocks; ++b) {
    const std::int64_t start = now_ns();
    for (int i = 0; i < kBlock; ++i) call();
    costs.push_back(static_cast<double>(now_ns() - start) / kBlock);
    // The rings are emptied every 10 ms: leave room, as training does.
    if (pause_every > 0 && b % pause_every == 0) ::usleep(kPauseUs);
  }
  return figures(costs);
}

// Each call alone, less what an empty measurement takes.
template <typename Call>
Figures singles(Call&& call, int pause_every = 0) {
  std::vector<double> costs;
  const double ns_per_tick = 1e9 / accel::runtime::ticks_per_second();
  for (int i = 0; i < kSingles; ++i) {
    const std::uint64_t start = accel::runtime::ticks();
    call();
    costs.push_back(static_cast<double>(accel::runtime::ticks() - start) * ns_per_tick);
    if (pause_every > 0 && i % pause_every == 0) ::usleep(kPauseUs);
  }
  return figures(costs);
}

// Scopes in the capture, so that a cheap dropped one is not taken for a fast one.
std::uint64_t scopes_in(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return 0;
  std::uint64_t count = 0;
  const auto read = accel::format::NativeReader::read(
      [&](std::span<char> to) -> accel::Result<std::size_t> { return std::fread(to.data(), 1, to.size(), file); },
      [&](const accel::format::NativeRows& rows) {
        count += rows.table() == "scope" ? rows.size() : 0;
        return true;
      });
  std::fclose(file);
  return read ? count : 0;
}

struct Row {
  const char* what;
  Figures blocks;
  Figures singles;
};

void show(const std::vector<Row>& rows, bool json) {
  for (const Row& row : rows) {
    const Figures b = row.blocks;
    const Figures s = row.singles;
    if (!json) {
      std::printf("%-46s p50 %6.1f ns   p99 %6.1f ns   alone p50 %6.1f ns   p99 %6.1f ns\n", row.what, b.p50, b.p99,
                  s.p50, s.p99);
      continue;
    }
    std::printf("%s\"%s\": {\"blocks\": {\"p50\": %.2f, \"p99\": %.2f}, \"singles\": {\"p50\": %.2f, \"p99\": %.2f}}",
                &row == rows.data() ? "{" : ", ", row.what, b.p50, b.p99, s.p50, s.p99);
  }
  if (json) std::printf("}\n");
}

constexpr tracy_style::SourceLocation kPlace = {"work", "main", "scope_cost.cpp", 1};
tracy_style::Queue g_queue;

}  // namespace

// `--count N`: only N scopes in a window and N without, for an instruction counter around this program.
int main(int argc, char** argv) {
  const bool json = argc == 2 && std::string(argv[1]) == "--json";
  const long only = argc == 3 && std::string(argv[1]) == "--count" ? std::atol(argv[2]) : 0;
  char folder[] = "/tmp/accel-scope-cost-XXXXXX";
  if (::mkdtemp(folder) == nullptr) return 1;
  Options options;
  options.output = folder;
  options.flags = ACCEL_NO_SIGNAL | ACCEL_NO_SOCKET | ACCEL_EXPERT;
  options.max_capture_bytes = std::uint64_t{8} << 30;
  options.max_capture_seconds = 600;
  accel::runtime::choose_clock();
  if (Runtime::enable(options) != ACCEL_OK) return 1;
  const Name name("work");
  ::usleep(20000);

  if (only > 0) {
    for (long i = 0; i < only; ++i) const Scope scope(name);
    for (long i = 0; i < only; ++i) Runtime::step();
    Schedule schedule;
    schedule.warmup = 0;
    schedule.steady_wait = 0;
    schedule.active = 1000000;
    schedule.level = 3;  // nothing else than scopes: no promise of cost can be kept
    Runtime::capture(schedule);
    while (Runtime::state() != ACCEL_STATE_ACTIVE) {
      Runtime::step();
      ::usleep(1000);
    }
    for (long i = 0; i < only; ++i) {
      const Scope scope(name);
      if (i % 4000 == 0) ::usleep(50000);
    }
    Runtime::disable();
    Runtime::wait(60000);
    std::filesystem::remove_all(folder);
    return 0;
  }
  timespec t;
  volatile std::uint64_t sink = 0;
  std::vector<Row> rows;
  const auto both = [&](const char* what, auto&& call) { rows.push_back({what, blocks(call), singles(call)}); };
  both("empty loop", [&] { __asm__ volatile("" ::: "memory"); });
  both("two clock_gettime(CLOCK_MONOTONIC)", [&] {
    clock_gettime(CLOCK_MONOTONIC, &t);
    clock_gettime(CLOCK_MONOTONIC, &t);
  });
  both("two reads of the recording's clock", [&] {
    sink = accel::runtime::ticks();
    sink = accel::runtime::ticks();
  });
  both("Tracy-style zone", [&] { const tracy_style::Zone zone(g_queue, kPlace); });
  both("scope, no window open", [&] { const Scope scope(name); });
  both("step mark, IDLE", [] { Runtime::step(); });

  Schedule schedule;
  schedule.warmup = 0;
  schedule.steady_wait = 0;
  schedule.active = 1000000;
  schedule.level = 3;
  Runtime::capture(schedule);
  while (Runtime::state() != ACCEL_STATE_ACTIVE) {
    Runtime::step();
    ::usleep(1000);
  }
  const auto scoped = [&] { const Scope scope(name); };
  rows.push_back({"scope, window open", blocks(scoped, 15), singles(scoped, 3000)});
  Runtime::stop();
  Runtime::wait(60000);
  const std::uint64_t arrived = scopes_in(Runtime::newest_capture());
  Runtime::disable();
  Runtime::wait(10000);
  std::filesystem::remove_all(folder);
  constexpr std::uint64_t kExpected = std::uint64_t{kBlock} * kBlocks + kSingles;
  if (arrived < kExpected / 100 * 99) {
    std::fprintf(stderr, "only %ju of %ju scopes arrived: the machine is too loaded for these figures\n",
                 static_cast<std::uintmax_t>(arrived), static_cast<std::uintmax_t>(kExpected));
    return 1;
  }
  constexpr std::uint64_t kZones = std::uint64_t{kBlock} * kBlocks + kSingles;
  if (g_queue.produced() != 2 * kZones) {
    std::fprintf(stderr, "the Tracy-style queue has %ju of %ju events\n",
                 static_cast<std::uintmax_t>(g_queue.produced()), static_cast<std::uintmax_t>(2 * kZones));
    return 1;
  }
  show(rows, json);
  return 0;
}
