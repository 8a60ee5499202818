#include "compare/condition.h"

#include <fmt/format.h>

namespace accel::compare {
namespace {

constexpr std::string_view kStepTime = "step_time.mean_ms";

Truth truth_of(bool value) { return value ? Truth::yes : Truth::no; }

bool holds(double number, std::string_view comparator, double bound) {
  if (comparator == ">") return number > bound;
  if (comparator == ">=") return number >= bound;
  if (comparator == "<") return number < bound;
  if (comparator == "<=") return number <= bound;
  return (number == bound) == (comparator == "==");
}

class Checker {
 public:
  explicit Checker(const ConditionInput& input) : input_(input) {}

  Result<ConditionOutcome> check(const ConditionNode& node) {
    switch (node.kind) {
      case ConditionNode::Kind::compare:
        return compare(node);
      case ConditionNode::Kind::none: {
        auto inner = check(node.inner.front());
        if (inner && inner->truth != Truth::unknown) inner->truth = truth_of(inner->truth == Truth::no);
        return inner;
      }
      case ConditionNode::Kind::all:
        return list(node, Truth::no);
      case ConditionNode::Kind::any:
        return list(node, Truth::yes);
    }
    return ConditionOutcome{};
  }

 private:
  // `decides` alone settles the list; otherwise an unknown member leaves it unknown.
  Result<ConditionOutcome> list(const ConditionNode& node, Truth decides) {
    ConditionOutcome whole;
    whole.truth = decides == Truth::no ? Truth::yes : Truth::no;
    for (const ConditionNode& inner : node.inner) {
      auto one = check(inner);
      if (!one) return one;
      if (one->truth == decides) return one;
      if (one->truth == Truth::unknown) whole.truth = Truth::unknown;
      whole.reason += (whole.reason.empty() ? "" : "; ") + one->reason;
    }
    return whole;
  }

  Result<ConditionOutcome> compare(const ConditionNode& node) {
    const auto now = input_.number(false, node.path);
    if (!now) return now.error();
    if (!*now) return unmeasured(node, "");
    if (!node.relative)
      return ConditionOutcome{truth_of(holds(**now, node.comparator, node.value)),
                              fmt::format("{} is {:.6g}", node.path, **now)};
    const auto before = input_.number(true, node.path);
    if (!before) return before.error();
    if (!*before) return unmeasured(node, " in the run before");
    ConditionOutcome outcome;
    outcome.truth = truth_of(holds(**now, node.comparator, **before * node.value));
    outcome.reason = fmt::format("{} is {:.6g}, was {:.6g}", node.path, **now, **before);
    if (**before != 0) outcome.reason += fmt::format(" ({:.3f}x)", **now / **before);
    if (node.path == kStepTime) weigh_noise(node, outcome);
    return outcome;
  }

  // A difference of the mean steps that the noise of the steps explains is none.
  void weigh_noise(const ConditionNode& node, ConditionOutcome& outcome) const {
    if (!input_.step_delta_ns) {
      outcome.reason += "; too few steps to know their noise";
      return;
    }
    const Interval& delta = *input_.step_delta_ns;
    outcome.reason +=
        fmt::format("; 95 % interval of the difference {:+.3f} to {:+.3f} ms", delta.low / 1e6, delta.high / 1e6);
    const bool more = node.comparator.starts_with('>');
    const bool less = node.comparator.starts_with('<');
    const bool noise = (more && node.value >= 1 && delta.low <= 0) || (less && node.value <= 1 && delta.high >= 0);
    if (outcome.truth != Truth::yes || !noise) return;
    outcome.truth = Truth::no;
    outcome.reason += ": within the noise";
  }

  static ConditionOutcome unmeasured(const ConditionNode& node, std::string_view where) {
    return {Truth::unknown, fmt::format("{} was not measured{}", node.path, where)};
  }

  const ConditionInput& input_;
};

}  // namespace

Result<ConditionOutcome> check(const Condition& condition, const ConditionInput& input) {
  return Checker(input).check(condition.root);
}

}  // namespace accel::compare
