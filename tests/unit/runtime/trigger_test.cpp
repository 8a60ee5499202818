#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/trigger/rule.h"
#include "runtime/trigger/rule_file.h"
#include "runtime/trigger/window.h"

namespace accel::runtime {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

class Trigger : public testing::Test {
 protected:
  Rule::Owner compiled(const std::string& text) {
    RuleError error;
    Rule::Owner rule = Rule::compile(text, *numbers_, error);
    EXPECT_NE(rule, nullptr) << text << ": column " << error.column << ": " << error.message << "; " << error.remedy;
    return rule;
  }
  RuleError refused(const std::string& text) {
    RuleError error;
    EXPECT_EQ(Rule::compile(text, *numbers_, error), nullptr) << text;
    EXPECT_GT(error.column, 0U) << text;
    EXPECT_STRNE(error.message, "") << text;
    EXPECT_STRNE(error.remedy, "") << text;
    return error;
  }
  void set(const char* name, double value) { numbers_->set(numbers_->slot(name), value); }
  Truth truth(const std::string& text) {
    const Rule::Owner rule = compiled(text);
    return rule == nullptr ? Truth::unknown : rule->evaluate(*numbers_);
  }

  std::unique_ptr<NumberTable> numbers_ = std::make_unique<NumberTable>();
};

TEST_F(Trigger, arithmetic_and_comparisons_follow_the_usual_precedence) {
  EXPECT_EQ(truth("1 + 2 * 3 == 7"), Truth::yes);
  EXPECT_EQ(truth("(1 + 2) * 3 == 9"), Truth::yes);
  EXPECT_EQ(truth("10 - 4 - 3 == 3"), Truth::yes);
  EXPECT_EQ(truth("12 / 4 / 3 == 1"), Truth::yes);
  EXPECT_EQ(truth("-2 * -3 == 6"), Truth::yes);
  EXPECT_EQ(truth("7 % 3 == 1 and -1 % 3 == 2"), Truth::yes);
  EXPECT_EQ(truth("1 < 2 and 2 <= 2 and 3 > 2 and 2 >= 2 and 1 != 2"), Truth::yes);
  EXPECT_EQ(truth("true or false and false"), Truth::yes);
  EXPECT_EQ(truth("not true or true"), Truth::yes);
  EXPECT_EQ(truth("not (true or true)"), Truth::no);
}

TEST_F(Trigger, numbers_are_read_without_the_locale) {
  EXPECT_EQ(truth("1e-3 == 0.001 and .5 == 0.5 and 1.5e3 == 1500 and 2E+2 == 200"), Truth::yes);
  EXPECT_EQ(truth("123456789012345678901234567890 > 1e29"), Truth::yes);
}

TEST_F(Trigger, functions_of_numbers) {
  EXPECT_EQ(truth("abs(-3) == 3 and min(3, 1, 2) == 1 and max(3, 1, 2) == 3"), Truth::yes);
  EXPECT_EQ(truth("round(2.5) == 3 and round(-2.5) == -3 and round(1.2345, 2) == 1.23"), Truth::yes);
}

TEST_F(Trigger, a_number_that_was_never_recorded_is_unknown_and_an_unknown_condition_never_holds) {
  EXPECT_EQ(truth("loss < 1"), Truth::unknown);
  EXPECT_EQ(truth("not (loss < 1)"), Truth::unknown);
  EXPECT_EQ(truth("loss == loss"), Truth::unknown);
  EXPECT_EQ(truth("abs(loss) + 1 > 0"), Truth::unknown);
  EXPECT_EQ(truth("max(loss, 5) > 1"), Truth::unknown);
  EXPECT_EQ(truth("max(5, loss) > 1"), Truth::unknown);
  EXPECT_EQ(truth("known(loss)"), Truth::no);
  EXPECT_EQ(truth("len(loss) == 0"), Truth::yes);
}

TEST_F(Trigger, and_or_decide_as_soon_as_one_side_decides) {
  EXPECT_EQ(truth("loss < 1 and false"), Truth::no);
  EXPECT_EQ(truth("false and loss < 1"), Truth::no);
  EXPECT_EQ(truth("loss < 1 and true"), Truth::unknown);
  EXPECT_EQ(truth("loss < 1 or true"), Truth::yes);
  EXPECT_EQ(truth("loss < 1 or false"), Truth::unknown);
}

TEST_F(Trigger, a_recorded_nan_or_infinity_can_be_asked_for_and_compares_as_unknown) {
  EXPECT_EQ(truth("isnan(loss)"), Truth::unknown);
  set("loss", NAN);
  EXPECT_EQ(truth("isnan(loss)"), Truth::yes);
  EXPECT_EQ(truth("known(loss)"), Truth::yes);
  EXPECT_EQ(truth("loss < 1"), Truth::unknown);
  set("loss", INFINITY);
  EXPECT_EQ(truth("isnan(loss)"), Truth::yes);
  set("loss", 0.5);
  EXPECT_EQ(truth("isnan(loss)"), Truth::no);
  EXPECT_EQ(truth("loss < 1"), Truth::yes);
  numbers_->forget(BuiltIn::loss);
  EXPECT_EQ(truth("loss < 1"), Truth::unknown);
}

TEST_F(Trigger, division_by_zero_and_overflow_are_unknown) {
  EXPECT_EQ(truth("1 / 0 > 0"), Truth::unknown);
  EXPECT_EQ(truth("0 / 0 == 0"), Truth::unknown);
  EXPECT_EQ(truth("5 % 0 == 0"), Truth::unknown);
  EXPECT_EQ(truth("1e300 * 1e300 > 0"), Truth::unknown);
  EXPECT_EQ(truth("1 / 0 > 0 or true"), Truth::yes);
}

TEST_F(Trigger, windows_are_unknown_until_they_are_full_and_take_new_values_only) {
  const Rule::Owner rule = compiled("mean(x, 3) == 2");
  set("x", 1);
  EXPECT_EQ(rule->evaluate(*numbers_), Truth::unknown);
  EXPECT_EQ(rule->evaluate(*numbers_), Truth::unknown) << "the same value counts once";
  set("x", 2);
  EXPECT_EQ(rule->evaluate(*numbers_), Truth::unknown);
  set("x", 3);
  EXPECT_EQ(rule->evaluate(*numbers_), Truth::yes);
  set("x", 3);
  EXPECT_EQ(rule->evaluate(*numbers_), Truth::no);
}

TEST_F(Trigger, a_nan_does_not_enter_a_window) {
  const Rule::Owner rule = compiled("mean(x, 2) == 2");
  for (const double value : {1.0, static_cast<double>(NAN), 3.0}) {
    set("x", value);
    rule->evaluate(*numbers_);
  }
  EXPECT_EQ(rule->evaluate(*numbers_), Truth::yes);
}

TEST_F(Trigger, a_window_is_fed_even_when_the_condition_is_decided_elsewhere) {
  const Rule::Owner rule = compiled("gate > 0 and mean(x, 2) > 1");
  set("gate", 0);
  for (const double value : {5.0, 6.0}) {
    set("x", value);
    EXPECT_EQ(rule->evaluate(*numbers_), Truth::no);
  }
  set("gate", 1);
  EXPECT_EQ(rule->evaluate(*numbers_), Truth::yes);
}

TEST_F(Trigger, every_window_function_gives_its_figure) {
  const std::vector<std::pair<std::string, double>> cases = {{"mean(x, 4)", 5.5},    {"sum(x, 4)", 22},
                                                             {"lowest(x, 4)", 1},    {"highest(x, 4)", 10},
                                                             {"p50(x, 4)", 3},       {"p90(x, 4)", 10},
                                                             {"p95(x, 4)", 10},      {"p99(x, 4)", 10},
                                                             {"delta(x)", -7},       {"delta(x, 2)", -5},
                                                             {"baseline(x, 3)", 8},  {"std(x, 2)", 3.5},
                                                             {"mean(x * 2, 4)", 11}, {"mean(mean(x, 2), 2)", 7.75}};
  for (const auto& [expression, expected] : cases) {
    const Rule::Owner rule = compiled("abs(" + expression + " - " + std::to_string(expected) + ") < 1e-9");
    Truth answer = Truth::unknown;
    for (const double value : {9.0, 0.0, 8.0, 1.0, 8.0, 10.0, 3.0}) {
      if (expression == "mean(mean(x, 2), 2)" && value == 0.0) continue;
      set("x", value);
      answer = rule->evaluate(*numbers_);
    }
    EXPECT_EQ(answer, Truth::yes) << expression;
  }
}

TEST_F(Trigger, stable_holds_when_the_last_values_stay_within_the_band) {
  const Rule::Owner rule = compiled("stable(loss, 1e-2, 3)");
  const std::vector<std::pair<double, Truth>> cases = {{1.0, Truth::unknown}, {0.5, Truth::unknown}, {0.3, Truth::no},
                                                       {0.305, Truth::no},    {0.302, Truth::yes},   {0.2, Truth::no}};
  for (const auto& [value, expected] : cases) {
    set("loss", value);
    EXPECT_EQ(rule->evaluate(*numbers_), expected) << value;
  }
}

TEST_F(Trigger, a_window_of_a_million_values_does_not_drift) {
  std::vector<double> memory(Window::doubles_needed(WindowKind::mean, 7));
  Window window;
  window.init(WindowKind::mean, 7, 0, memory.data());
  for (int i = 0; i < 1'000'000; ++i) window.push(i % 2 == 0 ? 1e9 + 0.1 : 0.1);
  for (int i = 0; i < 7; ++i) window.push(0.1);
  EXPECT_NEAR(window.figure(), 0.1, 1e-12);
}

TEST_F(Trigger, a_bare_condition_captures_five_steps_on_its_own_rank) {
  const Rule::Owner rule = compiled("loss < 1");
  EXPECT_EQ(rule->action().kind, ActionKind::capture_next_steps);
  EXPECT_EQ(rule->action().steps, 5U);
  EXPECT_EQ(rule->action().level, 2);
  EXPECT_EQ(rule->action().scope, RuleScope::per_rank);
  EXPECT_EQ(rule->limits().cooldown_s, 60U);
  EXPECT_EQ(rule->limits().per_hour, 4U);
  EXPECT_EQ(rule->text(), "loss < 1");
}

TEST_F(Trigger, the_full_form_names_action_scope_and_limits) {
  const Rule::Owner rule =
      compiled("loss < 1 => capture_next_steps(8, 1) @global hold=3 cooldown=10 per_hour=2  # why");
  EXPECT_EQ(rule->action().steps, 8U);
  EXPECT_EQ(rule->action().level, 1);
  EXPECT_EQ(rule->action().scope, RuleScope::global);
  EXPECT_EQ(rule->limits().hold_steps, 3U);
  EXPECT_EQ(rule->limits().cooldown_s, 10U);
  EXPECT_EQ(rule->limits().per_hour, 2U);
  EXPECT_EQ(compiled("true => capture_memory_stack() @global")->action().kind, ActionKind::capture_memory_stack);
  EXPECT_EQ(compiled("true => dump_stacks()")->action().kind, ActionKind::dump_stacks);
  EXPECT_STREQ(compiled("true => notify('file:alarm.txt')")->action().text, "file:alarm.txt");
  EXPECT_STREQ(compiled("true => mark(\"new phase\")")->action().text, "new phase");
}

TEST_F(Trigger, a_rule_that_does_not_parse_names_column_and_remedy) {
  const std::vector<std::tuple<std::string, std::uint32_t, std::string, std::string>> cases = {
      {"", 1, "no rule", "step_time_ms"},
      {"loss", 1, "needs a condition", "compare it"},
      {"loss = 1", 6, "'='", "=="},
      {"loss < 1 && true", 10, "&", "and, or, not"},
      {"0 < loss < 1", 10, "chained", "and"},
      {"loss < ", 8, "ends too early", "number"},
      {"loss < 10ms", 8, "10ms", "units"},
      {"(loss < 1", 10, "ends too early", ")"},
      {"loss < 1)", 9, "')'", "=>"},
      {"average(loss, 3) < 1", 1, "average", "mean"},
      {"mean(loss) < 1", 10, "')'", "mean(loss, 10)"},
      {"mean(loss, n) < 1", 12, "'n'", "plain number"},
      {"mean(loss, 0) < 1", 12, "range", "1 to 1024"},
      {"mean(loss, 2.5) < 1", 12, "range", "whole"},
      {"mean(loss, 2000) < 1", 12, "range", "1024"},
      {"min(loss) < 1", 1, "min", "lowest"},
      {"len(loss + 1) < 1", 10, "'+'", "one name"},
      {"loss.item() < 1", 5, "'.'", ""},
      {"(loss < 1) + 1 > 0", 1, "needs a number", "outside"},
      {"loss and true", 1, "needs a condition", "compare"},
      {"not loss", 5, "needs a condition", "compare"},
      {"loss < 1 => explode()", 13, "explode", "capture_next_steps"},
      {"loss < 1 => capture_next_steps(0)", 32, "range", "1 to 10000"},
      {"loss < 1 => capture_next_steps(5, 3)", 35, "range", "1 to 2"},
      {"loss < 1 => mark(text)", 18, "text", "quotes"},
      {"loss < 1 => mark('text)", 18, "closing quote", "close"},
      {"loss < 1 => dump_stacks() @all", 28, "all", "per_rank or global"},
      {"loss < 1 => dump_stacks() every=5", 27, "every", "cooldown"},
      {"loss < 1 => dump_stacks() hold=0", 32, "range", "1 to"},
  };
  for (const auto& [text, column, message, remedy] : cases) {
    const RuleError error = refused(text);
    EXPECT_EQ(error.column, column) << text << ": " << error.message;
    EXPECT_NE(std::string(error.message).find(message), std::string::npos) << text << ": " << error.message;
    EXPECT_NE(std::string(error.remedy).find(remedy), std::string::npos) << text << ": " << error.remedy;
  }
}

TEST_F(Trigger, length_nesting_windows_and_stack_are_bounded) {
  refused(std::string(2000, ' ') + "loss < 1");
  refused(std::string(100, '(') + "loss < 1" + std::string(100, ')'));
  std::string calls;
  for (int i = 0; i < 100; ++i) calls += "abs(";
  refused(calls + "loss" + std::string(100, ')') + " < 1");
  std::string nots;
  for (int i = 0; i < 100; ++i) nots += "not ";
  refused(nots + "true");
  refused(std::string(200, '-') + "1 < 0");
  refused("mean(loss, 1024) + p95(loss, 1024) + p95(loss, 1024) + p95(loss, 1024) + p95(loss, 1024) < 1");
  std::string many = "mean(a, 2)";
  for (int i = 0; i < 20; ++i) many += " + mean(a, 2)";
  refused(many + " < 1");
  std::string terms = "1";
  for (int i = 0; i < 150; ++i) terms += "+1";
  refused(terms + " < 1");
}

TEST_F(Trigger, the_table_of_names_is_bounded) {
  for (int i = 0; i < NumberTable::kCapacity; ++i) numbers_->slot("n" + std::to_string(i));
  EXPECT_EQ(numbers_->size(), NumberTable::kCapacity);
  EXPECT_EQ(numbers_->slot("one_more"), NumberTable::kNoSlot);
  refused("one_more < 1");
  EXPECT_EQ(numbers_->slot("1abc"), NumberTable::kNoSlot);
  EXPECT_EQ(numbers_->slot(std::string(48, 'a')), NumberTable::kNoSlot);
  numbers_->set(NumberTable::kNoSlot, 1);
}

TEST_F(Trigger, a_rule_says_which_sources_it_needs) {
  const auto bit = [](NumberSource source) { return 1U << static_cast<unsigned>(source); };
  EXPECT_EQ(compiled("loss < 1")->sources(), bit(NumberSource::given));
  EXPECT_EQ(compiled("gpu_memory_usage > 0.9 and my_number > 1")->sources(),
            bit(NumberSource::nvml) | bit(NumberSource::user));
  EXPECT_EQ(compiled("step % 100 == 0")->sources(), bit(NumberSource::step));
}

TEST_F(Trigger, a_rule_fires_once_until_its_condition_was_false_again) {
  const Rule::Owner rule = compiled("x > 1 => dump_stacks() cooldown=0 per_hour=60");
  set("x", 2);
  EXPECT_TRUE(rule->fires(*numbers_, 0));
  EXPECT_FALSE(rule->fires(*numbers_, kSecond));
  set("x", 0);
  EXPECT_FALSE(rule->fires(*numbers_, 2 * kSecond));
  set("x", 2);
  EXPECT_TRUE(rule->fires(*numbers_, 3 * kSecond));
}

TEST_F(Trigger, hold_cooldown_and_hourly_limit_keep_a_rule_from_storming) {
  const Rule::Owner rule = compiled("x > 1 => dump_stacks() hold=3 cooldown=100 per_hour=2");
  set("x", 2);
  EXPECT_FALSE(rule->fires(*numbers_, 0));
  EXPECT_FALSE(rule->fires(*numbers_, 0));
  EXPECT_TRUE(rule->fires(*numbers_, 0));
  const auto flap_and_hold = [&](std::int64_t now_s) {
    set("x", 0);
    EXPECT_FALSE(rule->fires(*numbers_, now_s * kSecond));
    set("x", 2);
    rule->fires(*numbers_, now_s * kSecond);
    rule->fires(*numbers_, now_s * kSecond);
    return rule->fires(*numbers_, now_s * kSecond);
  };
  EXPECT_FALSE(flap_and_hold(50)) << "cool-down";
  EXPECT_EQ(rule->held_back(), 1U);
  EXPECT_TRUE(flap_and_hold(150));
  EXPECT_FALSE(flap_and_hold(1000)) << "two in this hour";
  EXPECT_TRUE(flap_and_hold(3601)) << "the first one is over an hour old";
}

TEST_F(Trigger, a_clock_that_steps_back_does_not_silence_a_rule) {
  const Rule::Owner rule = compiled("x > 1 => dump_stacks() cooldown=60 per_hour=1");
  set("x", 2);
  EXPECT_TRUE(rule->fires(*numbers_, 1000 * kSecond));
  set("x", 0);
  rule->fires(*numbers_, 10 * kSecond);
  set("x", 2);
  EXPECT_TRUE(rule->fires(*numbers_, 10 * kSecond));
}

TEST_F(Trigger, the_memory_of_a_rule_is_bounded_and_known) {
  EXPECT_LT(compiled("loss < 1")->memory_bytes(), 2000U);
  EXPECT_LT(compiled("p95(step_time_ms, 1024) > 1")->memory_bytes(), 20000U);
}

TEST_F(Trigger, a_rule_file_has_one_rule_a_line_comments_and_continued_lines) {
  const std::string text =
      "# comment\n\nloss < 1\r\n  gpu_memory_usage > 0.9 \\\n   => capture_memory_stack() @global\n# end\nx > 1 # note";
  RuleFile file(text);
  std::string_view rule;
  std::uint32_t line = 0;
  ASSERT_TRUE(file.next(rule, line));
  EXPECT_EQ(rule, "loss < 1");
  EXPECT_EQ(line, 3U);
  ASSERT_TRUE(file.next(rule, line));
  EXPECT_EQ(line, 4U);
  EXPECT_EQ(compiled(std::string(rule))->action().kind, ActionKind::capture_memory_stack);
  ASSERT_TRUE(file.next(rule, line));
  EXPECT_EQ(line, 7U);
  compiled(std::string(rule));
  EXPECT_FALSE(file.next(rule, line));
}

TEST_F(Trigger, a_rule_over_too_many_lines_is_refused_not_cut) {
  std::string text = "loss < 1";
  for (int i = 0; i < 300; ++i) text += " or \\\n loss < 2";
  RuleFile file(text);
  std::string_view rule;
  std::uint32_t line = 0;
  ASSERT_TRUE(file.next(rule, line));
  refused(std::string(rule));
  EXPECT_FALSE(file.next(rule, line));
}

std::string file_text(const std::string& path) {
  std::ifstream in(std::string(ACCEL_SOURCE_DIR) + "/" + path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST_F(Trigger, the_shipped_example_rules_compile) {
  const std::string text = file_text("examples/rules/training.rules");
  RuleFile file(text);
  std::string_view rule;
  std::uint32_t line = 0;
  int rules = 0;
  while (file.next(rule, line)) {
    compiled(std::string(rule));
    ++rules;
  }
  EXPECT_GE(rules, 5);
}

TEST_F(Trigger, the_documentation_lists_every_built_in_number_as_the_code_does) {
  const std::string page = file_text("docs/formats/trigger.md");
  for (std::uint16_t i = 0; i < kBuiltInCount; ++i) {
    const NumberDescriptor& number = describe(static_cast<BuiltIn>(i));
    const std::string row = "| `" + std::string(number.name) + "` | " + std::string(number.unit) + " | " +
                            std::string(to_string(number.source)) + " | " + std::string(number.cost) + " | " +
                            std::string(number.meaning) + " |";
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace accel::runtime
