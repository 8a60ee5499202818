// What each state of the recorder costs a training step: paired blocks of steps in one process, in changing order, of a
// step of fixed arithmetic with scopes in it. Reported per state: the median over rounds of (state - off) / off, with
// the quartiles, in the processor time of the training thread and of the whole process (the recorder's own threads
// included; other programs on the machine are not in it), and the same of off against off. Beside it what the step's
// calls cost when they are counted and priced one by one. The answer first: every way computes the same number, and
// the windows hold the scopes they should.
//
//     level_cost [ROUNDS [STEP_MS [SCOPES]]]         200 rounds of 8 steps of 10 ms with 100 scopes
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "accel/profiler/runtime.h"

namespace ap = accel::profiler;

namespace {

enum Way { kOff, kOffAgain, kIdle, kWatching, kLevel1, kLevel2, kWays };
constexpr const char* kNames[] = {
    "off", "off again (A/A)", "IDLE", "WATCHING, 4 rules", "window, level 1", "window, level 2"};
constexpr int kStepsPerBlock = 8;

double seconds(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The work of one scope: a chain of multiplications that no compiler shortens or moves past a reading of a clock.
[[gnu::noinline]] double work(double value, long length) {
  for (long i = 0; i < length; ++i) value = value * 0.999999 + 1e-6;
  asm volatile("" : "+m"(value) : : "memory");
  return value;
}

struct Job {
  int scopes = 100;
  long length = 0;
  double value = 1;
  ap::Name name{"part", ap::category::kOp};

  void step(bool marked) {
    for (int k = 0; k < scopes; ++k) {
      const ap::Scope scope(name);
      value = work(value, length);
    }
    if (!marked) return;
    ap::Step info;
    info.loss = value;
    info.samples = 32;
    ap::Runtime::step(info);
  }
};

bool step_until(Job& job, accel_state state) {
  for (int i = 0; i < 20000; ++i) {
    if (ap::Runtime::state() == state) return true;
    job.step(true);
    if (job.length == 0) ::usleep(100);
  }
  return false;
}

// Brings the recorder into the state and says whether it is there.
bool prepare(Job& job, Way way, const std::string& folder) {
  if (way == kOff || way == kOffAgain) return ap::Runtime::state() == ACCEL_STATE_OFF;
  ap::Options options;
  options.output = folder.c_str();
  options.flags = ACCEL_NO_SOCKET | ACCEL_NO_SIGNAL;
  if (ap::Runtime::enable(options) != ACCEL_OK) return false;
  if (way == kIdle) return true;
  if (way == kWatching) {
    for (const char* rule : {"p50(step_time_ms, 20) > 100 * baseline_step_ms", "stable(loss, 1e-12, 100) and loss < -1",
                             "mean(throughput, 50) < 0", "isnan(loss)"}) {
      if (ap::Runtime::rule(rule) != ACCEL_OK) return false;
    }
    return true;
  }
  ap::Schedule schedule;
  schedule.level = way == kLevel1 ? 1 : 2;
  schedule.warmup = 0;
  schedule.active = 100000;
  schedule.steady_wait = 0;
  return ap::Runtime::capture(schedule) == ACCEL_OK && step_until(job, ACCEL_STATE_ACTIVE);
}

bool put_away() {
  ap::Runtime::disable();
  return ap::Runtime::wait(20000) == ACCEL_OK;
}

double share(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(std::lround(part * static_cast<double>(values.size() - 1)))];
}

// ns of one call of `body`, the least of some tries; between them the recorder empties its rings, and all together are
// over before it has looked twice at what it costs.
template <typename Body>
double price(Body&& body) {
  constexpr int kCalls = 2000;
  double least = 1e9;
  for (int k = 0; k < 9; ++k) {
    ::usleep(20000);
    const double began = seconds(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < kCalls; ++i) body();
    least = std::min(least, (seconds(CLOCK_THREAD_CPUTIME_ID) - began) * 1e9 / kCalls);
  }
  return least;
}

struct Block {
  double thread_s = 0;
  double process_s = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 200;
  const double step_ms = argc > 2 ? std::atof(argv[2]) : 10;
  Job job;
  if (argc > 3) job.scopes = std::atoi(argv[3]);
  char pattern[] = "/tmp/level-cost-XXXXXX";
  const std::string folder = ::mkdtemp(pattern);

  constexpr long kTry = 2000000;
  const double began = seconds(CLOCK_THREAD_CPUTIME_ID);
  job.value = work(1, kTry);
  job.length = static_cast<long>(static_cast<double>(kTry) * step_ms * 1e-3 /
                                 (seconds(CLOCK_THREAD_CPUTIME_ID) - began) / job.scopes);

  std::vector<double> thread_share[kWays];
  std::vector<double> process_share[kWays];
  std::vector<double> off_s;
  double answers[kWays] = {};
  std::mt19937 random(7);
  for (int round = 0; round < rounds; ++round) {
    Block block[kWays];
    std::vector<int> order = {kOff, kOffAgain, kIdle, kWatching, kLevel1, kLevel2};
    std::shuffle(order.begin(), order.end(), random);
    for (const int way : order) {
      if (!prepare(job, static_cast<Way>(way), folder)) {
        std::fprintf(stderr, "round %d: the recorder does not get into the state '%s'\n", round, kNames[way]);
        return 1;
      }
      job.value = 1;
      const double thread_before = seconds(CLOCK_THREAD_CPUTIME_ID);
      const double process_before = seconds(CLOCK_PROCESS_CPUTIME_ID);
      for (int k = 0; k < kStepsPerBlock; ++k) job.step(way != kOff && way != kOffAgain);
      block[way] = {seconds(CLOCK_THREAD_CPUTIME_ID) - thread_before,
                    seconds(CLOCK_PROCESS_CPUTIME_ID) - process_before};
      answers[way] = job.value;
      if ((way == kLevel1 || way == kLevel2) && ap::Runtime::state() != ACCEL_STATE_ACTIVE) {
        std::fprintf(stderr, "the window was closed early: the step is too short for its scopes\n");
        return 1;
      }
      if (!put_away()) return 1;
      for (const auto& file : std::filesystem::directory_iterator(folder)) std::filesystem::remove(file.path());
    }
    for (int way = 0; way < kWays; ++way) {
      thread_share[way].push_back(block[way].thread_s / block[kOff].thread_s - 1);
      process_share[way].push_back(block[way].process_s / block[kOff].process_s - 1);
    }
    off_s.push_back(block[kOff].thread_s / kStepsPerBlock);
  }
  for (const double answer : answers) {
    if (answer != answers[kOff]) {
      std::fprintf(stderr, "the ways computed different numbers\n");
      return 1;
    }
  }

  const double step_s = share(off_s, 0.5);
  std::printf("step of %.2f ms with %d scopes, %d rounds of %d steps\n\n", step_s * 1e3, job.scopes, rounds,
              kStepsPerBlock);
  std::printf("| state | training thread: median | quartiles | with the recorder's threads: median | quartiles |\n");
  std::printf("|---|---|---|---|---|\n");
  for (int way = kOffAgain; way < kWays; ++way)
    std::printf("| %s | %+.2f %% | %+.2f to %+.2f %% | %+.2f %% | %+.2f to %+.2f %% |\n", kNames[way],
                share(thread_share[way], 0.5) * 100, share(thread_share[way], 0.25) * 100,
                share(thread_share[way], 0.75) * 100, share(process_share[way], 0.5) * 100,
                share(process_share[way], 0.25) * 100, share(process_share[way], 0.75) * 100);

  std::printf("\n| state | a scope | a step mark | the step's calls, of the step |\n|---|---|---|---|\n");
  for (const Way way : {kIdle, kWatching, kLevel1, kLevel2}) {
    Job small;
    small.length = 0;
    small.scopes = 1;
    if (!prepare(small, way, folder)) {
      std::fprintf(stderr, "no calls could be priced in the state '%s'\n", kNames[way]);
      return 1;
    }
    const double scope = price([&] { const ap::Scope one(small.name); });
    ap::Step info;
    info.loss = 1;
    const double mark = price([&] { ap::Runtime::step(info); });
    if (!put_away()) return 1;
    std::printf("| %s | %.1f ns | %.0f ns | %.3f %% |\n", kNames[way], scope, mark,
                (scope * job.scopes + mark) / (step_s * 1e9) * 100);
  }
  std::filesystem::remove_all(folder);
  return 0;
}
