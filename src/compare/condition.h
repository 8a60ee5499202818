// Conditions for --fail-if: a closed language over the numbers of a report. Nothing in it has effects, calls or loops;
// length and depth are bounded.
//
//   condition = term { "or" term }          term = factor { "and" factor }
//   factor    = "not" factor | "(" condition ")" | number-name operator value
//   operator  = > >= < <= == !=
//   value     = 30 | 30 ms | 4.5 GB | 20%      as it is in the run
//             | 1.05x                          times that of the run before
//             | +5% | -5%                      more or less than that of the run before
//
// A number's name is its path in report.json (step_time.undisturbed_ms, breakdown[0].measured.idle_ms,
// findings[rule=launch_bound].cost_ms_per_step) or one of the short names of short_names().
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compare/step_noise.h"

namespace accel::compare {

struct ShortName {
  std::string_view name;
  std::string_view path;
  std::string_view meaning;
};
std::span<const ShortName> short_names();

struct ConditionNode {
  enum class Kind : std::uint8_t { compare, all, any, none } kind = Kind::compare;
  std::vector<ConditionNode> inner;  // of all, any, none (one)
  std::string written;               // the comparison as typed
  std::string path;
  std::string comparator;
  double value = 0;       // in the number's own unit, or a factor
  bool relative = false;  // times that of the run before
};

struct Condition {
  std::string text;
  ConditionNode root;
  bool relative = false;  // some comparison needs a run before
};

// An error names the position: "at 14: expected a number".
Result<Condition> parse_condition(std::string_view text);

struct ConditionInput {
  // A number by path: nothing when it was not measured, an error when there is no such number.
  std::function<Result<std::optional<double>>(bool of_before, const std::string& path)> number;
  std::optional<Interval> step_delta_ns;  // noise of the difference of the mean steps
};

enum class Truth : std::uint8_t { no, yes, unknown };

struct ConditionOutcome {
  Truth truth = Truth::no;
  std::string reason;  // the figures that decided
};

Result<ConditionOutcome> check(const Condition& condition, const ConditionInput& input);

}  // namespace accel::compare
