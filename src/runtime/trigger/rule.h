// Rule: one line of the trigger language, compiled once, evaluated at the end of every step. docs/formats/trigger.md is
// the grammar. A rule is one block of memory made by compile() and freed by destroy(); evaluation allocates nothing,
// never throws and takes bounded time. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "runtime/trigger/numbers.h"

namespace accel::runtime {

struct RuleError {
  std::uint32_t column = 0;  // from 1
  char message[192] = {};    // what is wrong
  char remedy[192] = {};     // what to write instead
};

enum class ActionKind : std::uint8_t { capture_next_steps, capture_memory_stack, dump_stacks, notify, mark };
enum class RuleScope : std::uint8_t { per_rank, global };

struct RuleAction {
  static constexpr std::size_t kMaxTextBytes = 255;
  ActionKind kind = ActionKind::capture_next_steps;
  RuleScope scope = RuleScope::per_rank;
  std::uint8_t level = 2;
  std::uint32_t steps = 5;
  char text[kMaxTextBytes + 1] = {};  // notify: target; mark: text
};

// What keeps a rule from storming.
struct RuleLimits {
  std::uint32_t hold_steps = 1;   // so many steps in a row the condition must hold
  std::uint32_t cooldown_s = 60;  // at least so long between two firings
  std::uint32_t per_hour = 4;     // at most so many firings in any hour
  static constexpr std::uint32_t kMaxPerHour = 60;
};

std::string_view to_string(ActionKind kind);

enum class Truth : std::uint8_t { no, yes, unknown };

class Rule {
 public:
  struct Destroy {
    void operator()(Rule* rule) const { Rule::destroy(rule); }
  };
  using Owner = std::unique_ptr<Rule, Destroy>;

  static constexpr std::size_t kMaxTextBytes = 1000;
  static constexpr std::uint32_t kMaxInstructions = 256;
  static constexpr std::uint32_t kMaxStack = 64;
  static constexpr std::uint32_t kMaxWindows = 16;
  static constexpr std::uint32_t kMaxDepth = 32;  // of nesting
  static constexpr std::size_t kMaxWindowDoubles = 8192;

  // Names that the table does not know are added to it. Null with `error` filled when the text is no rule (or memory is
  // short). Costs microseconds; not for the step's path.
  static Owner compile(std::string_view text, NumberTable& numbers, RuleError& error);
  static void destroy(Rule* rule);

  // Once per step. Feeds the windows, then answers.
  Truth evaluate(const NumberTable& numbers);
  // evaluate() under hold, cool-down, hysteresis and the hourly limit: true = carry out the action now. After firing
  // the condition must first have been something else than true.
  bool fires(const NumberTable& numbers, std::int64_t now_ns);

  const RuleAction& action() const { return action_; }
  const RuleLimits& limits() const { return limits_; }
  std::string_view text() const;
  // Bit (1 << source) for every source that the condition reads.
  std::uint32_t sources() const { return sources_; }
  // Steps on which the condition held and the limits kept the rule from firing.
  std::uint64_t held_back() const { return held_back_; }
  std::size_t memory_bytes() const { return memory_bytes_; }

 private:
  Rule() = default;
  ~Rule() = default;
  friend class RuleCompiler;

  struct Code;
  RuleAction action_;
  RuleLimits limits_;
  std::uint32_t sources_ = 0;
  std::size_t memory_bytes_ = 0;
  Code* code_ = nullptr;  // behind this object, in the same block

  // firing
  bool waits_for_fall_ = false;
  bool fired_before_ = false;
  std::uint32_t held_steps_ = 0;
  std::uint32_t firings_ = 0;
  std::int64_t last_fired_ns_ = 0;
  std::uint64_t held_back_ = 0;
  std::int64_t recent_ns_[RuleLimits::kMaxPerHour] = {};  // ring of firings
};

}  // namespace accel::runtime
