// Verdicts on simulated jobs, seed by seed, and what the fusion of a large job takes.
//   simulated_jobs seeds FIRST COUNT      the verdict of each seed against what was wrong; every miss is printed
//   simulated_jobs shaken FIRST COUNT     jobs whose ranks are late by chance: whom it names
//   simulated_jobs once RANKS             fuses one job of the growth benchmark
//   simulated_jobs growth                 seconds and memory of reading and fusing 16 to 1024 digests, and how they
//   grow
#include <malloc.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fusion/digest/digest_file.h"
#include "fusion/job.h"
#include "support/job_verdict.h"
#include "support/simulated_digests.h"

namespace {

using namespace accel;
using testing::JobPlan;

// Of this process, which fuses in one thread: other work on the machine does not count.
double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

double peak_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

int seeds(std::uint64_t first, std::uint64_t count) {
  struct Tally {
    int jobs = 0, right = 0, wrong_rank = 0;
  };
  std::map<std::string, Tally> by_fault;
  Tally all;
  double least = 1, most = 1;              // replayed cost over the true one
  double least_shown = 1, most_shown = 1;  // of jobs in whose report it stands
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const JobPlan plan = testing::plan_job(seed);
    const testing::JobRun run = testing::simulate(plan);
    const double cost = testing::true_cost_ns(plan, run);
    const fusion::Job job = fusion::fuse(testing::digests_of(plan, run));
    const testing::Judgement judgement = testing::judge(plan, cost, run.step_ns, job);
    for (Tally* tally : {&all, &by_fault[testing::to_string(plan.fault)]}) {
      ++tally->jobs;
      tally->right += judgement.right ? 1 : 0;
      tally->wrong_rank += judgement.wrong_rank ? 1 : 0;
    }
    // What the replay of the collectives says of the one rank that is late, beside the truth.
    if (judgement.right && cost > 0.1 * run.step_ns && job.stragglers.stragglers.size() == 1) {
      const double ratio = job.stragglers.stragglers.front().replayed_cost_ns / cost;
      least = std::min(least, ratio);
      most = std::max(most, ratio);
      if (std::any_of(job.stragglers.late_steps.begin(), job.stragglers.late_steps.end(),
                      [](const fusion::LateStep& step) { return step.saved_ns.has_value(); })) {
        least_shown = std::min(least_shown, ratio);
        most_shown = std::max(most_shown, ratio);
      }
    }
    if (!judgement.right)
      std::printf("MISS%s %s ->%s\n", judgement.wrong_rank ? " (wrong rank)" : "",
                  testing::describe(plan, cost, run.step_ns).c_str(), judgement.said.c_str());
  }
  std::printf("%-14s %6s %6s %11s\n", "fault", "jobs", "right", "wrong rank");
  for (const auto& [fault, tally] : by_fault)
    std::printf("%-14s %6d %6d %11d\n", fault.c_str(), tally.jobs, tally.right, tally.wrong_rank);
  std::printf("%-14s %6d %6d %11d   %.1f %% right\n", "all", all.jobs, all.right, all.wrong_rank,
              100.0 * all.right / all.jobs);
  std::printf(
      "replayed cost of one late rank or host over the true cost: %.2f to %.2f, %.2f to %.2f where it is shown\n",
      least, most, least_shown, most_shown);
  return all.wrong_rank == 0 && all.right * 100 >= all.jobs * 99 ? 0 : 1;
}

// Jobs in which every rank is shaken: without a fault nobody is to be named, with one the rank that has it.
int shaken(std::uint64_t first, std::uint64_t count) {
  int named = 0, named_small = 0, jobs = 0, innocent = 0, found = 0, must = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    JobPlan plan = testing::plan_shaken_job(seed);
    const testing::JobRun run = testing::simulate(plan);
    const fusion::Job job = fusion::fuse(testing::digests_of(plan, run));
    const testing::Judgement sound = testing::judge(plan, 0, run.step_ns, job);
    ++jobs;
    named += sound.wrong_rank ? 1 : 0;
    named_small += !sound.wrong_rank && !job.stragglers.stragglers.empty() ? 1 : 0;
    if (sound.wrong_rank)
      std::printf("NAMED %s, stalls %.1f of %.1f ms ->%s\n", testing::describe(plan, 0, run.step_ns).c_str(),
                  plan.stalls, plan.stall_ms, sound.said.c_str());
    // The same with a rank that is late in every step by the length of a third of it.
    plan.fault = testing::Fault::loader;
    plan.size_ms = std::max(plan.compute_ms, plan.host_ms) / 3 + std::max(0.0, plan.compute_ms - plan.host_ms);
    const testing::JobRun late = testing::simulate(plan);
    const double cost = testing::true_cost_ns(plan, late);
    const testing::Judgement guilty =
        testing::judge(plan, cost, late.step_ns, fusion::fuse(testing::digests_of(plan, late)));
    innocent += guilty.wrong_rank ? 1 : 0;
    if (cost < 0.1 * late.step_ns) continue;
    ++must;
    found += guilty.right ? 1 : 0;
  }
  std::printf("%d jobs of shaken ranks and no fault: a rank named as costly in %d (%.1f %%), at little cost in %d\n",
              jobs, named, 100.0 * named / jobs, named_small);
  std::printf("the same with one late rank: it alone named in %d of %d that it costs a tenth, an innocent one in %d\n",
              found, must, innocent);
  return named * 100 <= jobs && innocent * 100 <= jobs ? 0 : 1;
}

// Of the line through the points that errs least.
double slope(const std::vector<std::pair<double, double>>& points) {
  double x = 0, y = 0, xx = 0, xy = 0;
  for (const auto& [a, b] : points) {
    x += a;
    y += b;
    xx += a * a;
    xy += a * b;
  }
  const auto count = static_cast<double>(points.size());
  return (count * xy - x * y) / (count * xx - x * x);
}

struct GrownJob {
  std::uint32_t ranks = 0;
  double events = 0;
  std::vector<fusion::RankDigest> digests;  // until they are fused
  std::vector<std::string> files;           // the bytes of the digests
  double fuse_s = 0;
  double with_reading_s = 0;
};

JobPlan growing_plan(std::uint32_t ranks, bool hosts_known) {
  JobPlan plan;
  plan.seed = 11;
  plan.ranks = ranks;
  plan.steps = 20;
  plan.buckets = 25;
  plan.kernels = 4;
  plan.fault = testing::Fault::more_work;
  plan.victim = ranks / 2;
  plan.size_ms = 12;
  plan.hosts_known = hosts_known;
  return plan;
}

// Reads the digests from their bytes and fuses them: {seconds of both, seconds of fusing}, each the shortest of
// several, because other work on the machine only adds.
std::pair<double, double> seconds_of(const GrownJob& job, int repeats) {
  std::pair<double, double> shortest{1e9, 1e9};
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const double begin = processor_seconds();
    std::vector<fusion::RankDigest> digests;
    for (const std::string& file : job.files) {
      Result<fusion::RankDigest> digest = fusion::read_digest(file, "rank");
      if (!digest) std::abort();  // what was written a moment ago
      digests.push_back(std::move(*digest));
    }
    const double read = processor_seconds();
    const fusion::Job fused = fusion::fuse(std::move(digests));
    const double end = processor_seconds();
    shortest = {std::min(shortest.first, end - begin), std::min(shortest.second, end - read)};
  }
  return shortest;
}

struct Power {
  double mean = 0;
  double error = 0;  // of the mean
};

Power power_of(const std::vector<double>& slopes) {
  const auto count = static_cast<double>(slopes.size());
  Power power;
  double squares = 0;
  for (const double one : slopes) power.mean += one / count;
  for (const double one : slopes) squares += (one - power.mean) * (one - power.mean);
  power.error = std::sqrt(squares / (count - 1) / count);
  return power;
}

bool grow(bool hosts_known) {
  constexpr int kRounds = 8;
  // The reference host is not fitted: of two hosts that is half of the work, of eight and more hardly anything.
  constexpr std::uint32_t kFromRanks = 64;
  std::vector<GrownJob> jobs;
  std::vector<double> peaks;
  bool right = true;
  for (const std::uint32_t ranks : {16U, 64U, 256U, 1024U}) {
    const JobPlan plan = growing_plan(ranks, hosts_known);
    GrownJob job{ranks, 0, {}, {}, 1e9, 1e9};
    double cost = 0;
    double step = 0;
    {
      const testing::JobRun run = testing::simulate(plan);
      cost = testing::true_cost_ns(plan, run);
      step = run.step_ns;
      job.digests = testing::digests_of(plan, run);
    }
    for (const fusion::RankDigest& digest : job.digests) {
      job.events += static_cast<double>(digest.events.size());
      job.files.push_back(fusion::write_digest(digest));
    }
    const fusion::Job fused = fusion::fuse(std::move(job.digests));
    peaks.push_back(peak_mb());
    const testing::Judgement judgement = testing::judge(plan, cost, step, fused);
    right = right && judgement.right;
    if (!judgement.right) std::printf("WRONG:%s\n", judgement.said.c_str());
    jobs.push_back(std::move(job));
  }
  // All sizes take turns: a machine that is busy for a while slows each of them.
  std::vector<double> with_reading;
  std::vector<double> fusing;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::pair<double, double>> whole;  // logarithms of events and of seconds
    std::vector<std::pair<double, double>> alone;
    for (GrownJob& job : jobs) {
      const auto [both_s, fuse_s] = seconds_of(job, job.ranks < 256 ? 10 : 3);
      job.with_reading_s = std::min(job.with_reading_s, both_s);
      job.fuse_s = std::min(job.fuse_s, fuse_s);
      if (job.ranks < kFromRanks) continue;
      whole.emplace_back(std::log(job.events), std::log(both_s));
      alone.emplace_back(std::log(job.events), std::log(fuse_s));
    }
    with_reading.push_back(slope(whole));
    fusing.push_back(slope(alone));
  }
  std::printf("%s\n%6s %10s %10s %12s %12s %10s\n", hosts_known ? "eight ranks a host" : "hosts not recorded", "ranks",
              "events", "seconds", "us an event", "fusing alone", "peak MB");
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    std::printf("%6u %10.0f %10.3f %12.2f %12.2f %10.0f\n", jobs[i].ranks, jobs[i].events, jobs[i].with_reading_s,
                1e6 * jobs[i].with_reading_s / jobs[i].events, 1e6 * jobs[i].fuse_s / jobs[i].events, peaks[i]);
  }
  const Power whole = power_of(with_reading);
  const Power alone = power_of(fusing);
  std::printf(
      "from %u ranks on, seconds grow as events to the power of %.3f +- %.3f; of fusing alone %.3f +- %.3f (two "
      "standard errors, %d rounds)\n",
      kFromRanks, whole.mean, 2 * whole.error, alone.mean, 2 * alone.error, kRounds);
  return right;
}

int growth() {
  // Memory that a large job gave back to the system would have to be cleared again, that of a small one would not.
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_MMAP_MAX, 0);
  const bool known = grow(true);
  return grow(false) && known ? 0 : 1;
}

// For a tool that counts instructions: benchmarks/fusion/instructions.sh.
int once(std::uint32_t ranks) {
  const JobPlan plan = growing_plan(ranks, true);
  std::vector<fusion::RankDigest> digests = testing::digests_of(plan, testing::simulate(plan));
  std::size_t events = 0;
  for (const fusion::RankDigest& digest : digests) events += digest.events.size();
  const fusion::Job job = fusion::fuse(std::move(digests));
  std::printf("%u ranks, %zu events, %zu collectives\n", ranks, events, job.matching.collectives.size());
  return job.stragglers.stragglers.empty() ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "seeds") == 0)
    return seeds(std::strtoull(argv[2], nullptr, 10), std::strtoull(argv[3], nullptr, 10));
  if (argc == 4 && std::strcmp(argv[1], "shaken") == 0)
    return shaken(std::strtoull(argv[2], nullptr, 10), std::strtoull(argv[3], nullptr, 10));
  if (argc == 3 && std::strcmp(argv[1], "once") == 0)
    return once(static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10)));
  if (argc == 2 && std::strcmp(argv[1], "growth") == 0) return growth();
  std::fprintf(stderr, "usage: simulated_jobs seeds FIRST COUNT | shaken FIRST COUNT | growth | once RANKS\n");
  return 2;
}
