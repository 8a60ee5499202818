#include "runtime/session/cost_meter.h"

#include <sched.h>

#include <ctime>
#include <limits>

#include "runtime/buffer/clock.h"

namespace accel::runtime {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kLookEveryNs = 250'000'000;
constexpr std::uint32_t kLooksAbove = 2;  // in a row, before anything is done: one stall is no rate
constexpr double kScopeNs = 20;           // the promise beside two clock reads
constexpr double kLevel1Percent = 3;
constexpr double kLevel2Percent = 8;

}  // namespace

double CostMeter::measure_record_ns() {
  constexpr int kRounds = 8;
  constexpr int kPairs = 32;
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  std::uint64_t sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t start = monotonic_ns();
    for (int i = 0; i < 2 * kPairs; ++i) sum += ticks();
    const std::int64_t took = monotonic_ns() - start;
    if (took < best) best = took;
  }
  __asm__ volatile("" : : "r"(sum));
  return static_cast<double>(best) / kPairs + kScopeNs;
}

std::int64_t CostMeter::thread_cpu_ns() {
  timespec used{};
  return ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0 ? used.tv_sec * 1'000'000'000 + used.tv_nsec : 0;
}

double CostMeter::usable_cores() {
  cpu_set_t allowed;
  return ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

void CostMeter::begin(std::uint32_t level, double record_ns, double cores, std::uint64_t usual_step,
                      std::int64_t now_ns, std::int64_t own_cpu_ns) {
  *this = CostMeter();
  begun_ns_ = looked_ns_ = now_ns;
  next_look_ns_ = now_ns + kLookEveryNs;
  first_cpu_ns_ = looked_cpu_ns_ = own_cpu_ns;
  record_ns_ = record_ns;
  cores_ = cores > 1 ? cores : 1;
  usual_step_ = usual_step;
  limit_percent_ = level == 1 ? kLevel1Percent : level == 2 ? kLevel2Percent : kUnknown;
}

CostMeter::Advice CostMeter::look(std::int64_t now_ns, std::int64_t own_cpu_ns, std::uint64_t busiest_records) {
  const std::int64_t elapsed = now_ns - looked_ns_;
  records_ += busiest_records;
  if (elapsed <= 0) return Advice::go_on;
  const auto time = static_cast<double>(elapsed);
  const double records = static_cast<double>(busiest_records) * record_ns_ / time * 100;
  const double background = static_cast<double>(own_cpu_ns - looked_cpu_ns_) / cores_ / time * 100;
  looked_ns_ = now_ns;
  looked_cpu_ns_ = own_cpu_ns;
  next_look_ns_ = now_ns + kLookEveryNs;
  looks_above_ = records + background > limit_percent_ ? looks_above_ + 1 : 0;  // nothing is above NaN
  if (looks_above_ < kLooksAbove) return Advice::go_on;
  looks_above_ = 0;
  return background > records ? Advice::fewer_samples : Advice::fewer_records;
}

CostMeter::Figures CostMeter::figures() const {
  const auto time = static_cast<double>(looked_ns_ - begun_ns_);
  Figures figures{kUnknown, kUnknown, kUnknown, kUnknown, limit_percent_};
  if (time <= 0) return figures;
  figures.record_percent = static_cast<double>(records_) * record_ns_ / time * 100;
  figures.background_percent = static_cast<double>(looked_cpu_ns_ - first_cpu_ns_) / cores_ / time * 100;
  figures.percent = figures.record_percent + figures.background_percent;
  const std::uint64_t in_window = steps_.usual();
  if (usual_step_ > 0 && in_window > 0) {
    const auto before = static_cast<double>(usual_step_);
    figures.step_percent = (static_cast<double>(in_window) - before) / before * 100;
  }
  return figures;
}

}  // namespace accel::runtime
