#include "runtime/trigger/rule.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "runtime/trigger/program.h"

namespace accel::runtime {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// A number (NaN = unknown) or a truth (0, 1, NaN), and whether a new value went into it since the last evaluation.
struct Value {
  double v;
  bool fresh;
};

double finite_or_unknown(double v) { return std::isfinite(v) ? v : kUnknown; }

// Without libm, which the library does not link. Beyond 2^52 every double is whole.
double floor_of(double v) {
  if (!(std::fabs(v) < 4503599627370496.0)) return v;
  const auto whole = static_cast<double>(static_cast<std::int64_t>(v));
  return whole > v ? whole - 1 : whole;
}

double rounded(double v, unsigned digits) {
  double scale = 1;
  for (unsigned i = 0; i < digits; ++i) scale *= 10;
  const double shifted = v * scale;
  return (v < 0 ? -floor_of(-shifted + 0.5) : floor_of(shifted + 0.5)) / scale;
}

// Kleene's three values.
double both(double a, double b) {
  if (a == 0 || b == 0) return 0;
  return std::isnan(a) || std::isnan(b) ? kUnknown : 1;
}
double either(double a, double b) {
  if (a == 1 || b == 1) return 1;
  return std::isnan(a) || std::isnan(b) ? kUnknown : 0;
}

double combine(Op op, double a, double b) {
  if (op == Op::logic_and) return both(a, b);
  if (op == Op::logic_or) return either(a, b);
  if (std::isnan(a) || std::isnan(b)) return kUnknown;
  switch (op) {
    case Op::add:
      return finite_or_unknown(a + b);
    case Op::subtract:
      return finite_or_unknown(a - b);
    case Op::multiply:
      return finite_or_unknown(a * b);
    case Op::divide:
      return b == 0 ? kUnknown : finite_or_unknown(a / b);
    case Op::modulo:
      return b == 0 ? kUnknown : finite_or_unknown(a - b * floor_of(a / b));
    case Op::less:
      return a < b;
    case Op::less_equal:
      return a <= b;
    case Op::greater:
      return a > b;
    case Op::greater_equal:
      return a >= b;
    case Op::equal:
      return a == b;
    case Op::not_equal:
      return a != b;
    default:
      return kUnknown;
  }
}

Value extreme(const Value* values, unsigned count, bool largest) {
  Value result = values[0];
  for (unsigned i = 1; i < count; ++i) {
    const double v = values[i].v;
    result.fresh |= values[i].fresh;
    if (std::isnan(result.v) || std::isnan(v)) {
      result.v = kUnknown;
    } else if (largest ? v > result.v : v < result.v) {
      result.v = v;
    }
  }
  return result;
}

}  // namespace

std::string_view to_string(ActionKind kind) {
  switch (kind) {
    case ActionKind::capture_next_steps:
      return "capture_next_steps";
    case ActionKind::capture_memory_stack:
      return "capture_memory_stack";
    case ActionKind::dump_stacks:
      return "dump_stacks";
    case ActionKind::notify:
      return "notify";
    case ActionKind::mark:
      return "mark";
  }
  return "capture_next_steps";
}

void Rule::destroy(Rule* rule) {
  if (rule == nullptr) return;
  rule->~Rule();
  std::free(rule);
}

std::string_view Rule::text() const { return {code_->text, code_->text_bytes}; }

Truth Rule::evaluate(const NumberTable& numbers) {
  Value stack[kMaxStack];  // the compiler refuses a program that needs more
  unsigned top = 0;
  for (std::uint32_t i = 0; i < code_->instruction_count; ++i) {
    Instruction& in = code_->instructions[i];
    switch (in.op) {
      case Op::constant:
        stack[top++] = {in.constant, false};
        break;
      case Op::number: {
        const NumberValue number = numbers.get(in.operand);
        stack[top++] = {number.value, number.count != in.seen};
        in.seen = number.count;
        break;
      }
      case Op::known:
        stack[top++] = {numbers.get(in.operand).state != NumberValue::State::unknown ? 1.0 : 0.0, false};
        break;
      case Op::is_nan: {
        const NumberValue::State state = numbers.get(in.operand).state;
        stack[top++] = {state == NumberValue::State::unknown        ? kUnknown
                        : state == NumberValue::State::not_a_number ? 1
                                                                    : 0,
                        false};
        break;
      }
      case Op::count:
        stack[top++] = {static_cast<double>(numbers.get(in.operand).count), false};
        break;
      case Op::window: {
        Window& window = code_->windows[in.operand];
        Value& value = stack[top - 1];
        if (value.fresh && !std::isnan(value.v)) window.push(value.v);
        value.v = finite_or_unknown(window.figure());
        break;
      }
      case Op::negate:
        stack[top - 1].v = -stack[top - 1].v;
        break;
      case Op::absolute:
        stack[top - 1].v = std::fabs(stack[top - 1].v);
        break;
      case Op::round:
        stack[top - 1].v = finite_or_unknown(rounded(stack[top - 1].v, in.operand));
        break;
      case Op::logic_not:
        stack[top - 1].v = 1 - stack[top - 1].v;
        break;
      case Op::minimum:
      case Op::maximum:
        top -= in.operand - 1U;
        stack[top - 1] = extreme(stack + top - 1, in.operand, in.op == Op::maximum);
        break;
      default:
        --top;
        stack[top - 1].v = combine(in.op, stack[top - 1].v, stack[top].v);
        stack[top - 1].fresh |= stack[top].fresh;
        break;
    }
  }
  const double answer = stack[0].v;
  return std::isnan(answer) ? Truth::unknown : answer != 0 ? Truth::yes : Truth::no;
}

bool Rule::fires(const NumberTable& numbers, std::int64_t now_ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  if (evaluate(numbers) != Truth::yes) {
    held_steps_ = 0;
    waits_for_fall_ = false;
    return false;
  }
  if (held_steps_ < limits_.hold_steps) ++held_steps_;
  if (held_steps_ < limits_.hold_steps || waits_for_fall_) return false;
  // A clock that stepped back must not silence the rule for longer than the cool-down.
  const std::int64_t since = now_ns - last_fired_ns_;
  const bool too_soon = fired_before_ && since >= 0 && since < limits_.cooldown_s * kSecond;
  const std::int64_t oldest = recent_ns_[firings_ % limits_.per_hour];
  const bool too_often = firings_ >= limits_.per_hour && now_ns - oldest >= 0 && now_ns - oldest < 3600 * kSecond;
  if (too_soon || too_often) {
    ++held_back_;
    return false;
  }
  recent_ns_[firings_ % limits_.per_hour] = now_ns;
  ++firings_;
  fired_before_ = true;
  last_fired_ns_ = now_ns;
  waits_for_fall_ = true;
  return true;
}

}  // namespace accel::runtime
