#include "fusion/straggler/candidates.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

namespace accel::fusion {
namespace {

constexpr double kPersistentShare = 0.75;  // of the steps
// A rank whose latest step makes this share of all that it was ever late by was late once: the rest is what that step
// left behind, or what two ranks differ by anyway.
constexpr double kOnceShare = 0.75;
constexpr std::size_t kMostCandidates = 32;

using Steps = std::vector<LateStep*>;

// Late steps by rank; by host, under its first rank, where nearly all of them are steps in which all of it was late.
std::map<std::uint32_t, Steps> steps_by_unit(const RankSet& set, std::vector<LateStep>& late_steps) {
  std::map<std::uint32_t, std::pair<std::size_t, std::size_t>> of_host;  // by first rank: together, all
  std::map<std::string_view, std::uint32_t> first_of;
  for (const LateStep& step : late_steps)
    if (step.late && !step.with.empty()) first_of[set.ranks[step.rank].host] = step.with.front();
  const auto first_rank = [&](const LateStep& step) {
    const auto at = first_of.find(set.ranks[step.rank].host);
    return set.ranks[step.rank].host.empty() || at == first_of.end() ? kNoRow : at->second;
  };
  for (const LateStep& step : late_steps) {
    const std::uint32_t first = step.late ? first_rank(step) : kNoRow;
    if (first == kNoRow) continue;
    of_host[first].first += step.with.empty() ? 0 : 1;
    ++of_host[first].second;
  }
  std::map<std::uint32_t, Steps> units;
  for (LateStep& step : late_steps) {
    if (!step.late) continue;
    const std::uint32_t first = first_rank(step);
    const bool together = first != kNoRow && static_cast<double>(of_host[first].first) >=
                                                 kPersistentShare * static_cast<double>(of_host[first].second);
    units[together ? first : step.rank].push_back(&step);
  }
  return units;
}

void keep_the_one(Steps& steps) {
  double all = 0;
  for (const LateStep* step : steps) all += step->lateness_ns;
  const auto latest = std::max_element(
      steps.begin(), steps.end(), [](const LateStep* a, const LateStep* b) { return a->lateness_ns < b->lateness_ns; });
  if ((*latest)->lateness_ns < kOnceShare * all) return;
  steps = {*latest};
}

// 0: not at even distances, or too few to tell.
std::int64_t distance_of(const Steps& steps) {
  constexpr std::size_t kTimes = 3;
  if (steps.size() < kTimes) return 0;
  const std::int64_t distance = steps[1]->step - steps[0]->step;
  for (std::size_t i = 1; i < steps.size(); ++i)
    if (steps[i]->step - steps[i - 1]->step != distance) return 0;
  return distance > 1 ? distance : 0;
}

// The rank that came last most often first, then the others of its host where all were late together.
std::vector<std::uint32_t> ranks_of(const Steps& steps) {
  std::map<std::uint32_t, std::size_t> last;
  const std::vector<std::uint32_t>* with = nullptr;
  for (const LateStep* step : steps) {
    ++last[step->rank];
    if (!step->with.empty()) with = &step->with;
  }
  const auto most =
      std::max_element(last.begin(), last.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<std::uint32_t> ranks{most->first};
  if (with != nullptr && std::find(with->begin(), with->end(), most->first) != with->end() &&
      std::all_of(last.begin(), last.end(),
                  [&](const auto& one) { return std::find(with->begin(), with->end(), one.first) != with->end(); })) {
    for (const std::uint32_t rank : *with)
      if (rank != most->first) ranks.push_back(rank);
  }
  return ranks;
}

void measure_lateness(Straggler& one, const Steps& steps) {
  one.steps_late = static_cast<std::uint32_t>(steps.size());
  one.lateness_ns = one.lateness_high_ns = 0;
  one.lateness_low_ns = std::numeric_limits<double>::max();
  for (const LateStep* step : steps) {
    one.lateness_ns += step->lateness_ns / static_cast<double>(steps.size());
    one.lateness_low_ns = std::min(one.lateness_low_ns, step->lateness_ns);
    one.lateness_high_ns = std::max(one.lateness_high_ns, step->lateness_ns);
  }
}

}  // namespace

void keep_step(Candidate& candidate, std::int64_t step) {
  std::erase_if(candidate.steps, [&](const LateStep* one) { return one->step != step; });
  candidate.straggler.pattern = LatePattern::one_off;
  candidate.straggler.every = 0;
  measure_lateness(candidate.straggler, candidate.steps);
}

std::vector<Candidate> find_candidates(const RankSet& set, std::vector<LateStep>& late_steps) {
  auto by_unit = steps_by_unit(set, late_steps);
  const auto all = static_cast<double>(late_steps.size());
  const auto most_steps = [&](std::size_t count) { return static_cast<double>(count) >= kPersistentShare * all; };
  std::size_t late = 0;
  std::size_t repeated = 0;
  bool persistent = false;
  for (auto& [unit, steps] : by_unit) {
    keep_the_one(steps);
    late += steps.size();
    repeated += steps.size() > 1 ? 1 : 0;
    persistent = persistent || most_steps(steps.size());
  }
  const bool alternating = !persistent && repeated > 1 && most_steps(late);
  std::vector<Candidate> found;
  for (auto& [unit, steps] : by_unit) {
    Candidate candidate;
    Straggler& one = candidate.straggler;
    one.ranks = ranks_of(steps);
    one.whole_host = one.ranks.size() > 1;
    one.steps = static_cast<std::uint32_t>(late_steps.size());
    one.pattern = steps.size() == 1          ? LatePattern::one_off
                  : alternating              ? LatePattern::alternating
                  : most_steps(steps.size()) ? LatePattern::persistent
                                             : LatePattern::intermittent;
    one.every = distance_of(steps);
    measure_lateness(one, steps);
    candidate.steps = std::move(steps);
    found.push_back(std::move(candidate));
  }
  std::stable_sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
    return a.straggler.lateness_ns * a.straggler.steps_late > b.straggler.lateness_ns * b.straggler.steps_late;
  });
  if (found.size() > kMostCandidates) found.resize(kMostCandidates);
  return found;
}

}  // namespace accel::fusion
