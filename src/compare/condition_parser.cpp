#include <fmt/format.h>

#include <array>
#include <charconv>

#include "compare/condition.h"

namespace accel::compare {
namespace {

constexpr std::size_t kLongest = 2000;
constexpr int kDeepest = 50;

constexpr std::array<ShortName, 12> kShortNames = {{
    {"step_time", "step_time.mean_ms", "mean step as recorded"},
    {"undisturbed", "step_time.undisturbed_ms", "estimated step without the recording"},
    {"idle_share", "time_breakdown_undisturbed.idle_share", "idle share of the undisturbed step, 0 to 1"},
    {"device_busy", "utilisation.device_busy", "busy share of the undisturbed step"},
    {"mfu", "utilisation.mfu", "model FLOP/s over peak"},
    {"memory.peak", "memory.peak_bytes", "most device memory in use by tensors"},
    {"memory.reserved", "memory.reserved_peak_bytes", "most device memory got from the driver"},
    {"kernels_per_step", "kernel_summary.per_step", "kernels in a step"},
    {"samples_s", "throughput.samples_s", "samples per second"},
    {"tokens_s", "throughput.tokens_s", "tokens per second"},
    {"recording_cost", "distortion.cost_ms", "host time that the recording took in a step"},
    {"cv", "step_time.cv", "standard deviation of the steps over their mean"},
}};

enum class Dimension { none, time, bytes };

struct Unit {
  std::string_view name;
  Dimension dimension;
  double factor;  // to ns or bytes
};
constexpr std::array<Unit, 14> kUnits = {{
    {"ns", Dimension::time, 1},
    {"us", Dimension::time, 1e3},
    {"ms", Dimension::time, 1e6},
    {"s", Dimension::time, 1e9},
    {"min", Dimension::time, 60e9},
    {"B", Dimension::bytes, 1},
    {"KB", Dimension::bytes, 1e3},
    {"MB", Dimension::bytes, 1e6},
    {"GB", Dimension::bytes, 1e9},
    {"TB", Dimension::bytes, 1e12},
    {"KiB", Dimension::bytes, 1024},
    {"MiB", Dimension::bytes, 1048576},
    {"GiB", Dimension::bytes, 1073741824},
    {"TiB", Dimension::bytes, 1099511627776},
}};

// The unit that a key of the report ends in.
Unit unit_of_path(std::string_view path) {
  if (path.ends_with("_ms_per_step")) return {"ms", Dimension::time, 1e6};
  for (const std::string_view name : {"ns", "us", "ms"}) {
    if (!path.ends_with("_" + std::string(name))) continue;
    for (const Unit& unit : kUnits) {
      if (unit.name == name) return unit;
    }
  }
  if (path.ends_with("bytes") || path.ends_with("bytes_per_step")) return {"B", Dimension::bytes, 1};
  // The causes of idle time bear no unit in their names.
  if (path.find("idle_causes.") != std::string_view::npos) return {"ms", Dimension::time, 1e6};
  return {"", Dimension::none, 1};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Condition> parse() {
    if (text_.size() > kLongest) return fail("the condition is longer than 2000 characters");
    Condition condition;
    condition.text = text_;
    condition.root = any(0);
    skip_blanks();
    if (!error_ && at_ < text_.size()) fail(fmt::format("'{}' is not expected here", text_.substr(at_, 12)));
    if (error_) return *error_;
    condition.relative = relative_;
    return condition;
  }

 private:
  Error fail(const std::string& message) {
    if (!error_) {
      error_ = Error{ErrorCode::invalid_argument, fmt::format("at {}: {}", at_ + 1, message), std::string(text_)};
    }
    return *error_;
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool take(std::string_view symbol) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(symbol)) return false;
    at_ += symbol.size();
    return true;
  }
  bool take_word(std::string_view word) {
    skip_blanks();
    const std::string_view rest = text_.substr(at_);
    if (!rest.starts_with(word)) return false;
    if (rest.size() > word.size() && (is_letter(rest[word.size()]) || is_digit(rest[word.size()]) ||
                                      rest[word.size()] == '.' || rest[word.size()] == '['))
      return false;
    at_ += word.size();
    return true;
  }

  ConditionNode list(ConditionNode::Kind kind, std::string_view word, int depth) {
    ConditionNode node;
    node.kind = kind;
    const auto element = [&] { return kind == ConditionNode::Kind::any ? all(depth) : factor(depth); };
    node.inner.push_back(element());
    while (!error_ && take_word(word)) node.inner.push_back(element());
    if (node.inner.size() == 1) {
      ConditionNode only = std::move(node.inner.front());
      return only;
    }
    return node;
  }
  ConditionNode any(int depth) { return list(ConditionNode::Kind::any, "or", depth); }
  ConditionNode all(int depth) { return list(ConditionNode::Kind::all, "and", depth); }

  ConditionNode factor(int depth) {
    if (depth > kDeepest) {
      fail("brackets are nested too deeply");
      return {};
    }
    if (take_word("not")) {
      ConditionNode node;
      node.kind = ConditionNode::Kind::none;
      node.inner.push_back(factor(depth + 1));
      return node;
    }
    if (take("(")) {
      ConditionNode node = any(depth + 1);
      if (!error_ && !take(")")) fail("expected ')'");
      return node;
    }
    return comparison();
  }

  std::string path() {
    skip_blanks();
    const std::size_t start = at_;
    if (at_ >= text_.size() || !is_letter(text_[at_])) {
      fail("expected the name of a number, as in report.json (step_time.mean_ms) or a short one (step_time)");
      return {};
    }
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '[') {
        const std::size_t close = text_.find(']', at_);
        if (close == std::string_view::npos) {
          fail("'[' without ']'");
          return {};
        }
        at_ = close + 1;
      } else if (is_letter(c) || is_digit(c) || c == '.') {
        ++at_;
      } else {
        break;
      }
    }
    const std::string written(text_.substr(start, at_ - start));
    for (const ShortName& name : kShortNames) {
      if (name.name == written) return std::string(name.path);
    }
    return written;
  }

  ConditionNode comparison() {
    ConditionNode node;
    skip_blanks();
    const std::size_t start = at_;
    node.path = path();
    if (error_) return node;
    for (const std::string_view comparator : {">=", "<=", "==", "!=", ">", "<"}) {
      if (!take(comparator)) continue;
      node.comparator = comparator;
      break;
    }
    if (node.comparator.empty()) {
      fail("expected one of > >= < <= == !=");
      return node;
    }
    value(node);
    node.written = text_.substr(start, at_ - start);
    return node;
  }

  void value(ConditionNode& node) {
    skip_blanks();
    const bool is_signed = at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-');
    const bool negative = is_signed && text_[at_] == '-';
    if (is_signed) ++at_;
    double number = 0;
    const char* begin = text_.data() + at_;
    const char* end = text_.data() + text_.size();
    const auto [stop, status] = std::from_chars(begin, end, number, std::chars_format::general);
    if (status != std::errc{} || stop == begin || !(is_digit(*begin) || *begin == '.')) {
      fail("expected a number");
      return;
    }
    at_ += static_cast<std::size_t>(stop - begin);
    if (negative) number = -number;
    const std::size_t before_unit = at_;
    skip_blanks();
    const std::size_t unit_at = at_;
    if (at_ < text_.size() && text_[at_] == '%') {
      ++at_;
      percent(node, number, is_signed, unit_at);
      return;
    }
    std::size_t stop_at = at_;
    while (stop_at < text_.size() && is_letter(text_[stop_at])) ++stop_at;
    const std::string_view word = text_.substr(at_, stop_at - at_);
    if (word.empty() || word == "and" || word == "or") {
      at_ = before_unit;
      node.value = number;
      return;
    }
    if (word == "x") {
      at_ = stop_at;
      node.value = number;
      node.relative = relative_ = true;
      return;
    }
    unit(node, number, word, stop_at);
  }

  void percent(ConditionNode& node, double number, bool is_signed, std::size_t unit_at) {
    if (is_signed) {
      node.value = 1 + number / 100;
      node.relative = relative_ = true;
      return;
    }
    if (unit_of_path(node.path).dimension != Dimension::none) {
      at_ = unit_at;
      fail("a share needs a number without a unit; '+5%' means 5 % more than before");
      return;
    }
    node.value = number / 100;
  }

  void unit(ConditionNode& node, double number, std::string_view word, std::size_t end) {
    const Unit own = unit_of_path(node.path);
    for (const Unit& unit : kUnits) {
      if (unit.name != word) continue;
      if (unit.dimension != own.dimension) {
        fail(fmt::format("'{}' does not fit {}", word, node.path));
        return;
      }
      at_ = end;
      node.value = number * unit.factor / own.factor;
      return;
    }
    fail(fmt::format("'{}' is no unit; there are ns us ms s min B KB MB GB TB KiB MiB GiB TiB % x", word));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::optional<Error> error_;
  bool relative_ = false;
};

}  // namespace

std::span<const ShortName> short_names() { return kShortNames; }

Result<Condition> parse_condition(std::string_view text) { return Parser(text).parse(); }

}  // namespace accel::compare
