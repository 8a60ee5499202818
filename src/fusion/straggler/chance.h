// Whether a rank is late by more than chance: somebody comes last in every step, and ranks that share cores with other
// work shake by milliseconds. docs/design/fusion.md states the tests. Private to the straggler analysis.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "fusion/straggler/straggler.h"

namespace accel::fusion {

// Chance that values which lie around 0 have a mean as far above it as these: Student's t. 1 for fewer than two.
double chance_of_mean(const std::vector<double>& values);

// Chance that the largest of values of one exponential spread makes as much of their sum: Fisher's g.
double chance_of_largest(const std::vector<double>& values);

// Chance that values of one kind fall into two sorts as far apart as `high` and `low` are: the gap between the sorts
// against the deviation within them. 1 where they overlap or one of them is less than two.
double chance_of_two_sorts(const std::vector<double>& high, const std::vector<double>& low);

struct Reliability {
  bool sure = false;
  std::optional<std::int64_t> once;  // the one step in which it fell behind, where that is all there is
};

class Chance {
 public:
  // Both must outlive it. `steps`: numbers of those that were judged, ascending.
  Chance(const RankSet& set, const std::vector<std::int64_t>& steps);

  // Not sure: ranks that are late by chance alone would show as much in as many steps. `late`: its own late steps. Too
  // few steps to tell pass; what they say is unsure for that reason. Who passes is no measure for those asked later.
  Reliability ask(const Straggler& straggler, const std::vector<LateStep*>& late);

 private:
  using Value = std::function<double(const RankDigest&, const DigestStep&)>;
  static std::vector<Value> values_of(const Straggler& straggler);
  using Table = std::vector<double>;  // by place of the step and rank; not a number where the rank lacks the step
  struct Sum {
    double all = 0;
    double count = 0;
  };
  Table table_of(const Value& value) const;
  std::vector<std::uint32_t> others_than(const std::vector<std::uint32_t>& ranks) const;
  Sum sum_of(const Table& table, const std::vector<std::uint32_t>& ranks, std::size_t place) const;
  // By which the ranks have more than the mean of the others, by place of the step.
  std::vector<std::optional<double>> beyond_others(const std::vector<std::uint32_t>& ranks, const Table& table) const;
  bool stands_apart(const std::vector<std::optional<double>>& beyond, const std::vector<bool>& late) const;
  std::optional<std::int64_t> happens_once(const Straggler& straggler, const std::vector<bool>& late,
                                           const std::vector<std::optional<double>>& beyond, const Table& table) const;
  bool others_wait(const Straggler& straggler, double units) const;
  double shaking() const;
  const DigestStep* step(std::uint32_t rank, std::size_t place) const;

  const RankSet& set_;
  const std::vector<std::int64_t>& steps_;
  std::vector<std::uint32_t> rows_;  // of each rank's complete steps, by place and rank
  std::vector<bool> known_late_;     // by rank
};

}  // namespace accel::fusion
