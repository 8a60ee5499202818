#include "diagnosis/late_rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "diagnosis/late_rank_counters.h"
#include "diagnosis/wording.h"
#include "fusion/flight_recorder/progress.h"

namespace accel {
namespace {

using fusion::LateCause;
using fusion::LateSide;
using fusion::Straggler;

constexpr std::size_t kCausesShown = 3;
constexpr double kFewSteps = 0.7;      // confidence with fewer than three steps
constexpr double kUnknownCause = 0.8;  // nothing that this rank does more explains it
constexpr double kDisagreement = 0.6;  // clocks and durations name different ranks
constexpr std::uint32_t kEnoughSteps = 3;
// The replay knows the collectives alone. A rank that fell behind once stays behind where hosts run ahead of their
// devices, and costs no more than its own step is longer by.
constexpr double kMostOfCost = 1.1;
constexpr double kLeastOfCost = 0.5;
constexpr double kMostOfDelay = 0.5;

// The operation in which the others wait for it most.
std::string operation_of(const fusion::Job& job, const Straggler& straggler) {
  std::map<std::string, double> waits;
  const auto late = [&](std::uint32_t row) {
    return std::find(straggler.ranks.begin(), straggler.ranks.end(), row) != straggler.ranks.end();
  };
  for (std::size_t i = 0; i < job.timings.size(); ++i)
    if (late(job.timings[i].last)) waits[job.matching.collectives[i].name] += job.timings[i].wait_ns;
  std::string most;
  double longest = -1;
  for (const auto& [name, wait] : waits) {
    if (wait <= longest) continue;
    longest = wait;
    most = name;
  }
  return operation_text(most);
}

std::string how_often(const fusion::Job& job, const Straggler& straggler) {
  if (straggler.steps == 1) return "in the one step that was recorded";
  if (straggler.steps_late == straggler.steps) return "in every step";
  const std::string often = straggler.steps_late == 1
                                ? fmt::format("in one of {} steps", straggler.steps)
                                : fmt::format("in {} of {} steps", straggler.steps_late, straggler.steps);
  if (straggler.every > 1 && straggler.steps_late > 1) {
    const std::string_view nth = straggler.every == 2 ? "second" : straggler.every == 3 ? "third" : "";
    return nth.empty() ? fmt::format("in every {}th step", straggler.every) : fmt::format("in every {} step", nth);
  }
  if (straggler.pattern != fusion::LatePattern::alternating) return often;
  std::vector<std::int64_t> others;
  for (const auto* list : {&job.stragglers.stragglers, &job.stragglers.of_recording}) {
    for (const Straggler& other : *list)
      if (other.pattern == fusion::LatePattern::alternating && other.ranks.front() != straggler.ranks.front())
        others.push_back(job.set.rank_of(other.ranks.front()));
  }
  if (others.empty()) return often;
  std::sort(others.begin(), others.end());
  return fmt::format("{}, in turns with rank{} {}", often, others.size() == 1 ? "" : "s", fusion::rank_list(others));
}

}  // namespace

std::string activity_text(const Straggler& straggler) {
  if (straggler.causes.empty())
    return straggler.side == LateSide::device ? "its device takes longer" : "its host takes longer";
  const LateCause& first = straggler.causes.front();
  switch (first.kind) {
    case LateCause::Kind::host_gap:
      return "its host does something outside of every op";
    case LateCause::Kind::host_work:
      if (first.cause == IdleCause::data_loading) return "data loading";
      if (first.cause == IdleCause::garbage_collection) return "garbage collection";
      if (first.cause == IdleCause::memory_allocation) return "allocation of device memory";
      return fmt::format("host work in {}", short_name(first.name, 48));
    case LateCause::Kind::slower_host:
      return "its host takes longer for the same ops";
    case LateCause::Kind::more_kernels:
      return "more work on its device";
    case LateCause::Kind::larger_shapes:
      return "larger inputs on its device";
    case LateCause::Kind::slower_kernels:
      return "slower kernels at the same shapes";
    case LateCause::Kind::copies:
      return "copies";
  }
  return "its host takes longer";
}

std::string straggler_text(const fusion::Job& job, const Straggler& straggler) {
  if (!straggler.whole_host) return rank_text(job, straggler.ranks.front());
  std::vector<std::int64_t> ranks;
  ranks.reserve(straggler.ranks.size());
  for (const std::uint32_t row : straggler.ranks) ranks.push_back(job.set.rank_of(row));
  std::sort(ranks.begin(), ranks.end());
  return fmt::format("all of host {} (ranks {})", job.set.ranks[straggler.ranks.front()].host,
                     fusion::rank_list(ranks));
}

bool is_explained(const Straggler& straggler) {
  double excess = 0;
  for (const LateCause& cause : straggler.causes) excess += cause.excess_ns();
  return straggler.side == LateSide::host && excess >= kMostOfDelay * straggler.lateness_ns;
}

bool is_imbalance(const Straggler& straggler) {
  return straggler.side == LateSide::device && !straggler.causes.empty() &&
         (straggler.causes.front().kind == LateCause::Kind::more_kernels ||
          straggler.causes.front().kind == LateCause::Kind::larger_shapes);
}

std::string cause_text(const LateCause& cause) {
  const std::string on = cause.shape.empty() ? std::string() : " on " + short_name(cause.shape, 60);
  switch (cause.kind) {
    case LateCause::Kind::host_gap:
      return fmt::format("longest stretch of the host outside of every record per step{} (its peers: {})",
                         cause.name.empty() ? std::string() : ", before " + short_name(cause.name, 60),
                         ms_text(cause.peers_ns));
    case LateCause::Kind::host_work:
      return fmt::format("host time per step in {} (its peers: {})",
                         cause.name.empty() ? std::string("no record") : short_name(cause.name, 60),
                         ms_text(cause.peers_ns));
    case LateCause::Kind::slower_host:
      return fmt::format("host time per step in {} places that its peers go through as often: {}, ... (its peers: {})",
                         count_text(cause.own_count), short_name(cause.name, 90), ms_text(cause.peers_ns));
    case LateCause::Kind::larger_shapes:
      return fmt::format("device time per step in {} launches of {}{} (its peers: as many on {}, {})",
                         count_text(cause.own_count), short_name(cause.name, 48), on, short_name(cause.peers_shape, 60),
                         ms_text(cause.peers_ns));
    case LateCause::Kind::more_kernels:
      return fmt::format("device time per step in {} launches of {}{} (its peers: {} launches, {})",
                         count_text(cause.own_count), short_name(cause.name, 48), on, count_text(cause.peers_count),
                         ms_text(cause.peers_ns));
    case LateCause::Kind::slower_kernels:
      return fmt::format("device time per step in {}{}, launched as often as by its peers (theirs: {})",
                         short_name(cause.name, 48), on, ms_text(cause.peers_ns));
    case LateCause::Kind::copies:
      return fmt::format("exposed copies per step (its peers: {})", ms_text(cause.peers_ns));
  }
  return {};
}

Finding late_rank_finding(const JobInput& input, const Straggler& straggler, std::string_view rule) {
  const std::uint32_t row = straggler.ranks.front();
  Finding finding = new_job_finding(input, rule, straggler.undisturbed_cost.expected_ns);
  finding.title =
      fmt::format("{} held up by {}: {}, {} later than {} peers {}", operation_of(input.job, straggler),
                  straggler_text(input.job, straggler), activity_text(straggler), ms_text(straggler.lateness_ns),
                  straggler.whole_host ? "their" : "its", how_often(input.job, straggler));
  const auto evidence = [&](std::string text, double value, std::string unit) {
    finding.evidence.push_back({std::move(text), value, std::move(unit), {}});
  };
  for (std::size_t i = 0; i < std::min(kCausesShown, straggler.causes.size()); ++i)
    evidence(cause_text(straggler.causes[i]), straggler.causes[i].own_ns / 1e6, "ms");
  if (straggler.causes.empty())
    evidence("nothing that this rank does more than its peers explains it: the cause is unknown beyond this", 0, "");
  evidence(fmt::format("lateness per step, {} to {}, {} side, {}", ms_text(straggler.lateness_low_ns),
                       ms_text(straggler.lateness_high_ns), to_string(straggler.side), to_string(straggler.pattern)),
           straggler.lateness_ns / 1e6, "ms");
  evidence("cost to the job per step as recorded: the others wait longer than this rank",
           straggler.captured_cost_ns / 1e6, "ms");
  evidence(fmt::format("cost per step without the recording, {} to {}", ms_text(straggler.undisturbed_cost.low_ns),
                       ms_text(straggler.undisturbed_cost.high_ns)),
           straggler.undisturbed_cost.expected_ns / 1e6, "ms");
  if (straggler.steps_late < straggler.steps) {
    const double times = static_cast<double>(straggler.steps) / static_cast<double>(straggler.steps_late);
    const std::string recorded = ms_text(straggler.captured_cost_ns * times);
    evidence(straggler.steps_late == 1
                 ? fmt::format("cost without the recording of the one time that was recorded (as recorded: {}); how "
                               "often it comes is not known",
                               recorded)
                 : fmt::format("cost without the recording, each time (as recorded: {})", recorded),
             straggler.undisturbed_cost.expected_ns * times / 1e6, "ms");
  }
  evidence(fmt::format("a step as recorded without that delay: replay of the collectives of all ranks (with it: {})",
                       ms_text(input.job.stragglers.measured_step_ns)),
           std::max(0.0, input.job.stragglers.measured_step_ns -
                             std::min(straggler.replayed_cost_ns, kMostOfCost * straggler.captured_cost_ns)) /
               1e6,
           "ms");
  const std::uint32_t asked = straggler.clock_agrees + straggler.clock_disagrees;
  evidence(
      fmt::format("collectives in which its local duration is the shortest; the aligned clocks could tell {} of them "
                  "and agree in",
                  asked),
      straggler.clock_agrees, "count");
  add_counter_evidence(input.job, straggler, finding);
  if (straggler.clock_disagrees > straggler.clock_agrees) finding.confidence *= kDisagreement;
  // Others come nearly as late, and would hold the job up in its place.
  if (straggler.replayed_cost_ns < kLeastOfCost * straggler.captured_cost_ns) finding.confidence *= kDisagreement;
  if (straggler.steps < kEnoughSteps) finding.confidence *= kFewSteps;
  if (straggler.causes.empty()) finding.confidence *= kUnknownCause;
  for (const LateCause& cause : straggler.causes) {
    const bool device = straggler.side == LateSide::device;
    const std::string_view kind = device ? "kernel" : cause.kind == LateCause::Kind::host_gap ? "thread" : "op";
    const std::string name = cause.kind == LateCause::Kind::host_gap
                                 ? "outside of every record" + (cause.name.empty() ? "" : ", before " + cause.name)
                                 : cause.name;
    finding.where.push_back(rank_location(input.job, row, kind, name));
    if (finding.where.size() == kCausesShown) break;
  }
  if (finding.where.empty()) finding.where.push_back(rank_location(input.job, row, "rank", rank_text(input.job, row)));
  if (straggler.undisturbed_cost.expected_ns > 0) set_job_gain(finding, input, straggler.undisturbed_cost);
  return finding;
}

}  // namespace accel
