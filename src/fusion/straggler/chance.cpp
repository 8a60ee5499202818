#include "fusion/straggler/chance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "fusion/straggler/statistics.h"

namespace accel::fusion {
namespace {

// Of a wrong name, in each of the few questions that are asked of a job.
constexpr double kChance = 0.0005;
// Sigmas of how far two hosts come apart by chance over all steps.
constexpr double kWalks = 2.5;
// What happened once is so many times the next largest: now and then any host is stopped for some milliseconds.
constexpr double kStandsOut = 8;
constexpr std::size_t kFewestSteps = 3;  // two values say nothing of their spread

// Above `t`, of Student's distribution of whole degrees of freedom: the finite series for its central part.
double beyond_t(double t, std::size_t degrees) {
  if (t <= 0) return 1;
  const auto nu = static_cast<double>(degrees);
  const double angle = std::atan(t / std::sqrt(nu));
  const double cos2 = nu / (nu + t * t);
  double sum = 0;
  double term = degrees % 2 == 1 ? std::cos(angle) : 1;
  for (std::size_t i = degrees % 2 == 1 ? 1 : 0; i + 1 < degrees; i += 2) {
    sum += term;
    term *= cos2 * static_cast<double>(i + 1) / static_cast<double>(i + 2);
  }
  sum *= std::sin(angle);
  const double central = degrees % 2 == 1 ? 2 / std::numbers::pi * (angle + sum) : sum;
  return std::max(0.0, 1 - central) / 2;
}

double squares_around(const std::vector<double>& values, double mean) {
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return squares;
}

}  // namespace

double chance_of_mean(const std::vector<double>& values) {
  if (values.size() < 2) return 1;
  const double mean = mean_of(values);
  const double error = error_of_mean(values, mean);
  if (error <= 0) return mean > 0 ? 0 : 1;
  return beyond_t(mean / error, values.size() - 1);
}

double chance_of_largest(const std::vector<double>& values) {
  double sum = 0;
  double largest = 0;
  for (const double value : values) {
    sum += std::max(0.0, value);
    largest = std::max(largest, value);
  }
  if (sum <= 0) return 1;
  const auto count = static_cast<double>(values.size());
  return std::min(1.0, count * std::pow(1 - largest / sum, count - 1));
}

double chance_of_two_sorts(const std::vector<double>& high, const std::vector<double>& low) {
  if (high.size() < 2 || low.size() < 2) return 1;
  const double gap = *std::min_element(high.begin(), high.end()) - *std::max_element(low.begin(), low.end());
  if (gap <= 0) return 1;
  const double squares = squares_around(high, mean_of(high)) + squares_around(low, mean_of(low));
  const std::size_t degrees = high.size() + low.size() - 2;
  const double deviation = std::sqrt(squares / static_cast<double>(degrees));
  return deviation > 0 ? beyond_t(gap / deviation, degrees) : 0;
}

Chance::Chance(const RankSet& set, const std::vector<std::int64_t>& steps)
    : set_(set), steps_(steps), rows_(steps.size() * set.ranks.size(), kNoRow), known_late_(set.ranks.size(), false) {
  for (std::uint32_t r = 0; r < set.ranks.size(); ++r) {
    for (std::uint32_t s = 0; s < set.ranks[r].steps.size(); ++s) {
      const DigestStep& one = set.ranks[r].steps[s];
      const auto at = std::lower_bound(steps.begin(), steps.end(), one.number);
      if (one.complete && at != steps.end() && *at == one.number)
        rows_[static_cast<std::size_t>(at - steps.begin()) * set.ranks.size() + r] = s;
    }
  }
}

const DigestStep* Chance::step(std::uint32_t rank, std::size_t place) const {
  const std::uint32_t row = rows_[place * set_.ranks.size() + rank];
  return row == kNoRow ? nullptr : &set_.ranks[rank].steps[row];
}

// All that its side works in a step; and of that its first cause, which a host that is blocked in its calls does not
// share: a wait that nothing recorded as one looks like work.
std::vector<Chance::Value> Chance::values_of(const Straggler& straggler) {
  std::vector<Value> values;
  const bool device = straggler.side == LateSide::device;
  values.emplace_back([device](const RankDigest&, const DigestStep& one) {
    return static_cast<double>(device ? one.work.compute_ns + one.work.memory_ns
                                      : std::max<std::int64_t>(0, one.work.host_ns - one.work.waits_ns));
  });
  if (straggler.causes.empty()) return values;
  const LateCause& cause = straggler.causes.front();
  if (cause.kind == LateCause::Kind::host_gap || cause.kind == LateCause::Kind::host_work) {
    const bool gap = cause.kind == LateCause::Kind::host_gap;
    values.emplace_back([&cause, gap](const RankDigest& digest, const DigestStep& one) {
      double sum = 0;
      for (const HostShare& share : one.work.host)
        if (share.cause == cause.cause && digest.text(share.name) == (gap ? std::string_view() : cause.name))
          sum += static_cast<double>(gap ? share.longest_ns : share.ns);
      return sum;
    });
  }
  return values;
}

Chance::Table Chance::table_of(const Value& value) const {
  Table table(rows_.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t place = 0; place < steps_.size(); ++place) {
    for (std::uint32_t r = 0; r < set_.ranks.size(); ++r)
      if (const DigestStep* one = step(r, place)) table[place * set_.ranks.size() + r] = value(set_.ranks[r], *one);
  }
  return table;
}

// Ranks of the same stage that are not late for sure; all of it where nobody else is left.
std::vector<std::uint32_t> Chance::others_than(const std::vector<std::uint32_t>& ranks) const {
  std::vector<std::uint32_t> others;
  for (const bool late_too : {false, true}) {
    for (std::uint32_t r = 0; r < set_.ranks.size(); ++r) {
      if (set_.stage[r] == set_.stage[ranks.front()] && (late_too || !known_late_[r]) &&
          std::find(ranks.begin(), ranks.end(), r) == ranks.end())
        others.push_back(r);
    }
    if (!others.empty()) break;
  }
  return others;
}

Chance::Sum Chance::sum_of(const Table& table, const std::vector<std::uint32_t>& ranks, std::size_t place) const {
  Sum sum;
  for (const std::uint32_t r : ranks) {
    const double value = table[place * set_.ranks.size() + r];
    if (std::isnan(value)) continue;
    sum.all += value;
    ++sum.count;
  }
  return sum;
}

std::vector<std::optional<double>> Chance::beyond_others(const std::vector<std::uint32_t>& ranks,
                                                         const Table& table) const {
  const std::vector<std::uint32_t> others = others_than(ranks);
  std::vector<std::optional<double>> out(steps_.size());
  for (std::size_t place = 0; place < steps_.size(); ++place) {
    const Sum own = sum_of(table, ranks, place);
    const Sum usual = sum_of(table, others, place);
    if (own.count > 0 && usual.count > 0) out[place] = own.all / own.count - usual.all / usual.count;
  }
  return out;
}

// Its steps are of two sorts, and it is late in those of one of them alone.
bool Chance::stands_apart(const std::vector<std::optional<double>>& beyond, const std::vector<bool>& late) const {
  std::vector<double> sorted;
  for (const std::optional<double>& one : beyond)
    if (one) sorted.push_back(*one);
  std::sort(sorted.begin(), sorted.end());
  std::size_t split = 0;  // before the widest gap that leaves two on both sides
  for (std::size_t i = 2; i + 2 <= sorted.size(); ++i)
    if (split == 0 || sorted[i] - sorted[i - 1] > sorted[split] - sorted[split - 1]) split = i;
  if (split == 0) return false;
  for (std::size_t place = 0; place < beyond.size(); ++place)
    if (late[place] && beyond[place] && *beyond[place] < sorted[split]) return false;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(split);
  return chance_of_two_sorts({middle, sorted.end()}, {sorted.begin(), middle}) *
             static_cast<double>(set_.ranks.size()) <=
         kChance;
}

// The largest of what any rank has beyond the others in any step, and too large to be one of them.
std::optional<std::int64_t> Chance::happens_once(const Straggler& straggler, const std::vector<bool>& late,
                                                 const std::vector<std::optional<double>>& beyond,
                                                 const Table& table) const {
  const std::vector<std::uint32_t> others = others_than(straggler.ranks);
  double own = 0;
  std::int64_t step_of_own = 0;
  std::vector<double> all;
  for (std::size_t place = 0; place < steps_.size(); ++place) {
    if (beyond[place] && *beyond[place] > 0) {
      all.push_back(*beyond[place]);
      if (late[place] && *beyond[place] > own) {
        own = *beyond[place];
        step_of_own = steps_[place];
      }
    }
    const Sum of_own = sum_of(table, straggler.ranks, place);
    const Sum rest = sum_of(table, others, place);
    for (const std::uint32_t r : others) {
      const double value = table[place * set_.ranks.size() + r];
      const double count = of_own.count + rest.count - 1;
      if (std::isnan(value) || count <= 0) continue;
      const double more = value - (of_own.all + rest.all - value) / count;
      if (more > 0) all.push_back(more);
    }
  }
  std::sort(all.begin(), all.end());
  if (own <= 0 || own < all.back()) return std::nullopt;
  // Where nothing else differs at all there is no chance to tell it from.
  const bool alone = all.size() == 1;
  if (!alone && (chance_of_largest(all) > kChance || own < kStandsOut * all[all.size() - 2])) return std::nullopt;
  return step_of_own;
}

// Spread of one rank's own host work from step to step, robust; of the rank that is shaken most.
double Chance::shaking() const {
  constexpr double kOfDeviation = 1.4826;  // median absolute deviation to sigma
  double most = 0;
  for (std::uint32_t r = 0; r < set_.ranks.size(); ++r) {
    std::vector<double> values;
    for (std::size_t place = 0; place < steps_.size(); ++place)
      if (const DigestStep* one = step(r, place))
        values.push_back(static_cast<double>(std::max<std::int64_t>(0, one->work.host_ns - one->work.waits_ns)));
    const double middle = median_of(values);
    for (double& value : values) value = std::abs(value - middle);
    most = std::max(most, kOfDeviation * median_of(std::move(values)));
  }
  return most;
}

// In all steps, and for longer than hosts come apart by chance that nothing holds together: such a distance stays, and
// its steps are not independent.
bool Chance::others_wait(const Straggler& straggler, double units) const {
  const Table table = table_of([](const RankDigest&, const DigestStep& one) {
    return -static_cast<double>(one.communication_exposed_ns + one.host_wait_ns);
  });
  std::vector<double> values;
  for (const std::optional<double>& one : beyond_others(straggler.ranks, table))
    if (one) values.push_back(*one);
  const double apart = shaking() * std::sqrt(2 * static_cast<double>(values.size()));
  return chance_of_mean(values) * units <= kChance && mean_of(values) > kWalks * apart;
}

Reliability Chance::ask(const Straggler& straggler, const std::vector<LateStep*>& late) {
  std::vector<bool> is_late(steps_.size(), false);
  for (const LateStep* one : late) {
    const auto at = std::lower_bound(steps_.begin(), steps_.end(), one->step);
    if (at != steps_.end() && *at == one->step) is_late[static_cast<std::size_t>(at - steps_.begin())] = true;
  }
  const double units = static_cast<double>(set_.ranks.size()) / static_cast<double>(straggler.ranks.size());
  Reliability out;
  out.sure = steps_.size() < kFewestSteps;
  for (const Value& value : values_of(straggler)) {
    if (out.sure) break;
    const Table table = table_of(value);
    const std::vector<std::optional<double>> beyond = beyond_others(straggler.ranks, table);
    std::vector<double> values;
    for (const std::optional<double>& one : beyond)
      if (one) values.push_back(*one);
    out.sure = chance_of_mean(values) * units <= kChance || stands_apart(beyond, is_late);
    if (out.sure) break;
    out.once = happens_once(straggler, is_late, beyond, table);
    out.sure = out.once.has_value();
  }
  out.sure = out.sure || others_wait(straggler, units);
  if (out.sure)
    for (const std::uint32_t rank : straggler.ranks) known_late_[rank] = true;
  return out;
}

}  // namespace accel::fusion
