#include "runtime/trigger/rule_compiler.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace accel::runtime {
namespace {

constexpr const char* kFunctions =
    "abs min max round len known isnan mean sum std p50 p90 p95 p99 lowest highest delta stable baseline";

int shown(std::string_view text) { return static_cast<int>(text.size() < 60 ? text.size() : 60); }

std::size_t aligned(std::size_t bytes) { return (bytes + 15) & ~std::size_t{15}; }

}  // namespace

struct RuleCompiler::Function {
  std::string_view name;
  WindowKind kind;
  double parameter;
};

RuleCompiler::Type RuleCompiler::fail(std::uint32_t column, const char* message, const char* remedy) {
  if (error_.column == 0) {  // the first error is the one to show
    error_.column = column;
    std::snprintf(error_.message, sizeof error_.message, "%s", message);
    std::snprintf(error_.remedy, sizeof error_.remedy, "%s", remedy);
  }
  return Type::failed;
}

RuleCompiler::Type RuleCompiler::fail_named(std::uint32_t column, const char* format, std::string_view name,
                                            const char* remedy) {
  char message[sizeof error_.message];
  std::snprintf(message, sizeof message, format, shown(name), name.data());
  return fail(column, message, remedy);
}

RuleCompiler::Type RuleCompiler::unexpected(const char* wanted) {
  const std::string_view text = token_.text;
  char remedy[sizeof error_.remedy];
  std::snprintf(remedy, sizeof remedy, "write %s here", wanted);
  if (token_.kind == TokenKind::end) return fail(token_.column, "the rule ends too early", remedy);
  if (token_.kind == TokenKind::bad) {
    if (text[0] == '"' || text[0] == '\'')
      return fail(token_.column, "the text has no closing quote", "close it with the quote that opened it");
    if (text[0] == '&' || text[0] == '|' || text[0] == '!')
      return fail_named(token_.column, "'%.*s' is no operator", text, "write and, or, not");
    if (text[0] >= '0' && text[0] <= '9')
      return fail_named(token_.column, "'%.*s' is no number", text,
                        "write a plain number such as 0.5, 1e-3 or 10; units are in the names");
    return fail_named(token_.column, "'%.*s' has no meaning in a rule", text, remedy);
  }
  if (text == "=") return fail(token_.column, "'=' is no comparison", "write == to compare");
  return fail_named(token_.column, "'%.*s' is not expected", text, remedy);
}

RuleCompiler::Type RuleCompiler::need(Type got, Type wanted, std::uint32_t column, std::string_view around) {
  if (got == Type::failed || got == wanted) return got;
  if (wanted == Type::truth) {
    return fail_named(column, "'%.*s' needs a condition, and this is a number", around,
                      "compare it, for example: loss < 0.5");
  }
  return fail_named(column, "'%.*s' needs a number, and this is a condition", around,
                    "put the comparison outside, joined by and, or, not");
}

bool RuleCompiler::accept(std::string_view symbol) {
  if (!token_.is(symbol)) return false;
  advance();
  return true;
}

bool RuleCompiler::expect(std::string_view symbol, const char* where) {
  if (accept(symbol)) return true;
  char wanted[96];
  std::snprintf(wanted, sizeof wanted, "%.*s %s", shown(symbol), symbol.data(), where);
  unexpected(wanted);
  return false;
}

bool RuleCompiler::emit(Op op, std::uint16_t operand, double constant, int stack_change, std::uint32_t column) {
  if (instruction_count_ == Rule::kMaxInstructions || stack_ + stack_change > static_cast<int>(Rule::kMaxStack)) {
    fail(column, "the rule is too long", "split it into several rules");
    return false;
  }
  stack_ += stack_change;
  instructions_[instruction_count_++] = {op, operand, 0, constant};
  return true;
}

RuleCompiler::Type RuleCompiler::disjunction() {
  if (++depth_ > Rule::kMaxDepth)
    return fail(token_.column, "the rule is nested too deeply",
                "use fewer parentheses, or split it into several rules");
  std::uint32_t column = token_.column;
  Type type = conjunction();
  while (type != Type::failed && token_.is("or")) {
    if (need(type, Type::truth, column, "or") == Type::failed) return Type::failed;
    advance();
    column = token_.column;
    type = need(conjunction(), Type::truth, column, "or");
    if (type == Type::failed || !emit(Op::logic_or, 0, 0, -1, column)) return Type::failed;
  }
  --depth_;
  return type;
}

RuleCompiler::Type RuleCompiler::conjunction() {
  std::uint32_t column = token_.column;
  Type type = negation();
  while (type != Type::failed && token_.is("and")) {
    if (need(type, Type::truth, column, "and") == Type::failed) return Type::failed;
    advance();
    column = token_.column;
    type = need(negation(), Type::truth, column, "and");
    if (type == Type::failed || !emit(Op::logic_and, 0, 0, -1, column)) return Type::failed;
  }
  return type;
}

RuleCompiler::Type RuleCompiler::negation() {
  if (!token_.is("not")) return comparison();
  if (++depth_ > Rule::kMaxDepth) return fail(token_.column, "the rule is nested too deeply", "use fewer words 'not'");
  advance();
  const std::uint32_t column = token_.column;
  const Type type = need(negation(), Type::truth, column, "not");
  --depth_;
  return type == Type::failed || !emit(Op::logic_not, 0, 0, 0, column) ? Type::failed : Type::truth;
}

RuleCompiler::Type RuleCompiler::comparison() {
  struct Comparison {
    std::string_view symbol;
    Op op;
  };
  constexpr Comparison kComparisons[] = {{"<", Op::less},           {"<=", Op::less_equal}, {">", Op::greater},
                                         {">=", Op::greater_equal}, {"==", Op::equal},      {"!=", Op::not_equal}};
  const std::uint32_t left_column = token_.column;
  const Type left = sum();
  if (left == Type::failed) return left;
  for (const Comparison& comparison : kComparisons) {
    if (token_.kind != TokenKind::symbol || token_.text != comparison.symbol) continue;
    if (need(left, Type::number, left_column, comparison.symbol) == Type::failed) return Type::failed;
    advance();
    const std::uint32_t right_column = token_.column;
    if (need(sum(), Type::number, right_column, comparison.symbol) == Type::failed) return Type::failed;
    for (const Comparison& second : kComparisons) {
      if (token_.kind == TokenKind::symbol && token_.text == second.symbol)
        return fail(token_.column, "comparisons cannot be chained", "join two comparisons: 0 < x and x < 1");
    }
    return emit(comparison.op, 0, 0, -1, right_column) ? Type::truth : Type::failed;
  }
  return left;
}

RuleCompiler::Type RuleCompiler::sum() {
  std::uint32_t column = token_.column;
  const Type first = product();
  while (first != Type::failed && (token_.is("+") || token_.is("-"))) {
    const std::string_view symbol = token_.text;
    if (need(first, Type::number, column, symbol) == Type::failed) return Type::failed;
    advance();
    column = token_.column;
    if (need(product(), Type::number, column, symbol) == Type::failed) return Type::failed;
    if (!emit(symbol == "+" ? Op::add : Op::subtract, 0, 0, -1, column)) return Type::failed;
  }
  return first;
}

RuleCompiler::Type RuleCompiler::product() {
  std::uint32_t column = token_.column;
  const Type first = unary();
  while (first != Type::failed && (token_.is("*") || token_.is("/") || token_.is("%"))) {
    const std::string_view symbol = token_.text;
    if (need(first, Type::number, column, symbol) == Type::failed) return Type::failed;
    advance();
    column = token_.column;
    if (need(unary(), Type::number, column, symbol) == Type::failed) return Type::failed;
    const Op op = symbol == "*" ? Op::multiply : symbol == "/" ? Op::divide : Op::modulo;
    if (!emit(op, 0, 0, -1, column)) return Type::failed;
  }
  return first;
}

RuleCompiler::Type RuleCompiler::unary() {
  if (!token_.is("-")) return primary();
  if (++depth_ > Rule::kMaxDepth) return fail(token_.column, "the rule is nested too deeply", "use one minus sign");
  const std::uint32_t column = token_.column;
  advance();
  const Type type = need(unary(), Type::number, column, "-");
  --depth_;
  return type == Type::failed || !emit(Op::negate, 0, 0, 0, column) ? Type::failed : Type::number;
}

RuleCompiler::Type RuleCompiler::primary() {
  const Token token = token_;
  if (token.kind == TokenKind::number) {
    advance();
    return emit(Op::constant, 0, token.number, 1, token.column) ? Type::number : Type::failed;
  }
  if (accept("(")) {
    const Type type = disjunction();
    return type == Type::failed || !expect(")", "to close the parenthesis") ? Type::failed : type;
  }
  if (token.kind != TokenKind::name || token.text == "and" || token.text == "or")
    return unexpected("a number, a name or a parenthesis");
  advance();
  if (token.text == "true" || token.text == "false") {
    return emit(Op::constant, 0, token.text == "true" ? 1 : 0, 1, token.column) ? Type::truth : Type::failed;
  }
  return token_.is("(") ? call(token) : number_name(token);
}

RuleCompiler::Type RuleCompiler::number_name(const Token& name) {
  if (name.text.size() > NumberTable::kMaxNameBytes)
    return fail(name.column, "the name is too long", "names have at most 47 characters");
  const std::uint16_t slot = numbers_.slot(name.text);
  if (slot == NumberTable::kNoSlot)
    return fail(name.column, "there are too many different names",
                "rules and recorded numbers may use 256 names in all");
  sources_ |= 1U << static_cast<unsigned>(numbers_.source(slot));
  return emit(Op::number, slot, 0, 1, name.column) ? Type::number : Type::failed;
}

RuleCompiler::Type RuleCompiler::call(const Token& name) {
  if (++depth_ > Rule::kMaxDepth)
    return fail(name.column, "the rule is nested too deeply", "use fewer calls inside calls");
  advance();  // (
  const Type type = called(name);
  --depth_;
  return type;
}

RuleCompiler::Type RuleCompiler::called(const Token& name) {
  constexpr Function kWindows[] = {
      {"mean", WindowKind::mean, 0},       {"sum", WindowKind::sum, 0},         {"std", WindowKind::deviation, 0},
      {"p50", WindowKind::percentile, 50}, {"p90", WindowKind::percentile, 90}, {"p95", WindowKind::percentile, 95},
      {"p99", WindowKind::percentile, 99}, {"lowest", WindowKind::lowest, 0},   {"highest", WindowKind::highest, 0},
      {"delta", WindowKind::delta, 0},     {"stable", WindowKind::stable, 0},   {"baseline", WindowKind::baseline, 0},
  };
  if (name.text == "abs") {
    const std::uint32_t column = token_.column;
    if (need(sum(), Type::number, column, "abs") == Type::failed || !expect(")", "to close the call"))
      return Type::failed;
    return emit(Op::absolute, 0, 0, 0, name.column) ? Type::number : Type::failed;
  }
  if (name.text == "min") return extreme_of(name, Op::minimum);
  if (name.text == "max") return extreme_of(name, Op::maximum);
  if (name.text == "round") return round_of();
  if (name.text == "len") return name_question(Op::count);
  if (name.text == "known") return name_question(Op::known);
  if (name.text == "isnan") return name_question(Op::is_nan);
  for (const Function& function : kWindows) {
    if (function.name == name.text) return window_of(function, name);
  }
  char remedy[sizeof error_.remedy];
  std::snprintf(remedy, sizeof remedy, "the functions are: %s", kFunctions);
  return fail_named(name.column, "there is no function '%.*s'", name.text, remedy);
}

RuleCompiler::Type RuleCompiler::name_question(Op op) {
  const Token asked = token_;
  if (asked.kind != TokenKind::name) return unexpected("the name of a number");
  advance();
  if (number_name(asked) == Type::failed) return Type::failed;
  Instruction& last = instructions_[instruction_count_ - 1];
  last.op = op;
  if (!expect(")", "after the name: this function takes one name, not an expression")) return Type::failed;
  return op == Op::count ? Type::number : Type::truth;
}

RuleCompiler::Type RuleCompiler::extreme_of(const Token& name, Op op) {
  std::uint16_t count = 0;
  do {
    const std::uint32_t column = token_.column;
    if (need(sum(), Type::number, column, name.text) == Type::failed) return Type::failed;
    ++count;
  } while (accept(","));
  if (!expect(")", "to close the call")) return Type::failed;
  if (count < 2)
    return fail_named(name.column, "'%.*s' of one number is that number", name.text,
                      "lowest(x, n) and highest(x, n) look back over n values");
  return emit(op, count, 0, 1 - count, name.column) ? Type::number : Type::failed;
}

RuleCompiler::Type RuleCompiler::round_of() {
  const std::uint32_t column = token_.column;
  std::uint32_t digits = 0;
  if (need(sum(), Type::number, column, "round") == Type::failed) return Type::failed;
  if (accept(",") && !whole_number("the number of digits", 0, 12, digits)) return Type::failed;
  if (!expect(")", "to close the call")) return Type::failed;
  return emit(Op::round, static_cast<std::uint16_t>(digits), 0, 0, column) ? Type::number : Type::failed;
}

// mean(x, n); delta(x[, n]); stable(x, band[, n]).
RuleCompiler::Type RuleCompiler::window_of(const Function& function, const Token& name) {
  constexpr std::uint32_t kStableSteps = 10;
  const std::uint32_t column = token_.column;
  if (need(sum(), Type::number, column, name.text) == Type::failed) return Type::failed;
  WindowPlan plan{function.kind, 0, function.parameter};
  bool size_given = false;
  if (function.kind == WindowKind::stable) {
    if (!expect(",", "and the width of the band: stable(loss, 1e-3)") ||
        !constant("the width of the band", plan.parameter))
      return Type::failed;
    plan.size = kStableSteps;
    size_given = accept(",");
  } else if (function.kind == WindowKind::delta) {
    plan.size = 1;
    size_given = accept(",");
  } else {
    if (!expect(",", "and the number of values to look back over: mean(loss, 10)")) return Type::failed;
    size_given = true;
  }
  const std::uint32_t smallest = function.kind == WindowKind::stable ? 2 : 1;
  if (size_given && !whole_number("the number of values", smallest, kMaxWindow, plan.size)) return Type::failed;
  if (!expect(")", "to close the call")) return Type::failed;
  const std::size_t doubles = Window::doubles_needed(plan.kind, plan.size);
  if (window_count_ == Rule::kMaxWindows || window_doubles_ + doubles > Rule::kMaxWindowDoubles) {
    return fail(name.column, "the rule looks back over too many values",
                "use shorter windows, or split it into several rules");
  }
  if (!emit(Op::window, static_cast<std::uint16_t>(window_count_), 0, 0, name.column)) return Type::failed;
  windows_[window_count_++] = plan;
  window_doubles_ += doubles;
  return function.kind == WindowKind::stable ? Type::truth : Type::number;
}

bool RuleCompiler::constant(const char* what, double& out) {
  if (token_.kind != TokenKind::number) {
    char wanted[96];
    std::snprintf(wanted, sizeof wanted, "%s as a plain number", what);
    unexpected(wanted);
    return false;
  }
  out = token_.number;
  advance();
  return true;
}

bool RuleCompiler::whole_number(const char* what, std::uint32_t lowest, std::uint32_t highest, std::uint32_t& out) {
  const std::uint32_t column = token_.column;
  double value = 0;
  if (!constant(what, value)) return false;
  if (value < lowest || value > highest || value != static_cast<double>(static_cast<std::uint32_t>(value))) {
    char message[128];
    char remedy[128];
    std::snprintf(message, sizeof message, "%s is out of range", what);
    std::snprintf(remedy, sizeof remedy, "write a whole number from %u to %u", lowest, highest);
    fail(column, message, remedy);
    return false;
  }
  out = static_cast<std::uint32_t>(value);
  return true;
}

bool RuleCompiler::consequence() {
  if (token_.kind == TokenKind::end) return true;
  if (accept("=>") && !action()) return false;
  if (error_.column != 0) return false;
  if (accept("@")) {
    if (token_.is("per_rank")) {
      action_.scope = RuleScope::per_rank;
    } else if (token_.is("global")) {
      action_.scope = RuleScope::global;
    } else {
      unexpected("per_rank or global");
      return false;
    }
    advance();
  }
  return limits();
}

bool RuleCompiler::action() {
  constexpr ActionKind kActions[] = {ActionKind::capture_next_steps, ActionKind::capture_memory_stack,
                                     ActionKind::dump_stacks, ActionKind::notify, ActionKind::mark};
  const Token name = token_;
  for (const ActionKind kind : kActions) {
    if (name.kind != TokenKind::name || name.text != to_string(kind)) continue;
    advance();
    action_.kind = kind;
    if (!expect("(", "after the action's name")) return false;
    if (kind == ActionKind::capture_next_steps && !capture_arguments()) return false;
    if (kind == ActionKind::notify && !text_argument("the target in quotes")) return false;
    if (kind == ActionKind::mark && !text_argument("the text in quotes")) return false;
    return expect(")", "to close the action");
  }
  if (name.kind == TokenKind::name) {
    fail_named(name.column, "there is no action '%.*s'", name.text,
               "the actions are: capture_next_steps(n) capture_memory_stack() dump_stacks() notify(\"target\") "
               "mark(\"text\")");
  } else {
    unexpected("an action such as capture_next_steps(5)");
  }
  return false;
}

bool RuleCompiler::capture_arguments() {
  constexpr std::uint32_t kMostSteps = 10000;
  std::uint32_t level = action_.level;
  if (token_.is(")")) return true;
  if (!whole_number("the number of steps", 1, kMostSteps, action_.steps)) return false;
  // Level 3 is never reached by a rule: it needs the flag of the person who starts the job.
  if (accept(",") && !whole_number("the level", 1, 2, level)) return false;
  action_.level = static_cast<std::uint8_t>(level);
  return true;
}

bool RuleCompiler::text_argument(const char* what) {
  if (token_.kind != TokenKind::string) {
    unexpected(what);
    return false;
  }
  if (token_.text.empty() || token_.text.size() > RuleAction::kMaxTextBytes) {
    fail(token_.column, "the text is empty or too long", "write 1 to 255 bytes");
    return false;
  }
  std::memcpy(action_.text, token_.text.data(), token_.text.size());
  action_.text[token_.text.size()] = 0;
  advance();
  return true;
}

bool RuleCompiler::limits() {
  while (token_.kind == TokenKind::name && !token_.is("and") && !token_.is("or") && !token_.is("not")) {
    const Token name = token_;
    advance();
    if (!limit(name)) return false;
  }
  if (token_.kind == TokenKind::end) return true;
  unexpected("=> and an action, @ and a scope, or the end of the rule");
  return false;
}

bool RuleCompiler::limit(const Token& name) {
  struct Limit {
    std::string_view name;
    std::uint32_t* value;
    std::uint32_t lowest;
    std::uint32_t highest;
  };
  const Limit known[] = {{"hold", &limits_.hold_steps, 1, 1000000},
                         {"cooldown", &limits_.cooldown_s, 0, 604800},
                         {"per_hour", &limits_.per_hour, 1, RuleLimits::kMaxPerHour}};
  for (const Limit& limit : known) {
    if (limit.name != name.text) continue;
    return expect("=", "and a number: cooldown=60") &&
           whole_number("the limit", limit.lowest, limit.highest, *limit.value);
  }
  fail_named(
      name.column, "'%.*s' is not expected", name.text,
      "write => and an action, @per_rank or @global, or a limit: hold=N (steps) cooldown=N (seconds) per_hour=N");
  return false;
}

Rule* RuleCompiler::compile() {
  error_ = {};
  if (text_.size() > Rule::kMaxTextBytes) {
    fail(Rule::kMaxTextBytes + 1, "the rule is too long", "a rule has at most 1000 bytes; split it");
    return nullptr;
  }
  advance();
  if (token_.kind == TokenKind::end) {
    fail(1, "there is no rule here", "write a condition, for example: step_time_ms > 1.15 * baseline_step_ms");
    return nullptr;
  }
  const Type type = disjunction();
  if (token_.kind == TokenKind::bad || token_.is("="))
    unexpected("a comparison");  // the likelier mistake: say it first
  if (need(type, Type::truth, 1, "rule") == Type::failed || error_.column != 0 || !consequence()) return nullptr;
  return build();
}

// One block: rule, code, instructions, windows, their values, text.
Rule* RuleCompiler::build() {
  const std::size_t code_at = aligned(sizeof(Rule));
  const std::size_t instructions_at = code_at + aligned(sizeof(Rule::Code));
  const std::size_t windows_at = instructions_at + aligned(instruction_count_ * sizeof(Instruction));
  const std::size_t doubles_at = windows_at + aligned(window_count_ * sizeof(Window));
  const std::size_t text_at = doubles_at + aligned(window_doubles_ * sizeof(double));
  const std::size_t bytes = text_at + text_.size() + 1;
  char* block = static_cast<char*>(std::malloc(bytes));
  if (block == nullptr) {
    fail(1, "no memory for the rule", "free memory in the process");
    return nullptr;
  }
  Rule* rule = new (block) Rule();
  auto* code = new (block + code_at) Rule::Code();
  code->instructions = reinterpret_cast<Instruction*>(block + instructions_at);
  for (std::uint32_t i = 0; i < instruction_count_; ++i) new (&code->instructions[i]) Instruction(instructions_[i]);
  code->windows = reinterpret_cast<Window*>(block + windows_at);
  auto* doubles = reinterpret_cast<double*>(block + doubles_at);
  for (std::uint32_t i = 0; i < window_count_; ++i) {
    new (&code->windows[i]) Window();
    code->windows[i].init(windows_[i].kind, windows_[i].size, windows_[i].parameter, doubles);
    doubles += Window::doubles_needed(windows_[i].kind, windows_[i].size);
  }
  code->text = block + text_at;
  std::memcpy(code->text, text_.data(), text_.size());
  code->text[text_.size()] = 0;
  code->instruction_count = instruction_count_;
  code->window_count = window_count_;
  code->text_bytes = static_cast<std::uint32_t>(text_.size());
  rule->code_ = code;
  rule->action_ = action_;
  rule->limits_ = limits_;
  rule->sources_ = sources_;
  rule->memory_bytes_ = bytes;
  return rule;
}

Rule::Owner Rule::compile(std::string_view text, NumberTable& numbers, RuleError& error) {
  RuleCompiler compiler(text, numbers, error);
  return Owner(compiler.compile());
}

}  // namespace accel::runtime
