#include "runtime/trigger/lexer.h"

#include <cmath>

namespace accel::runtime {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// strtod depends on the host's locale; this does not. Exact enough for thresholds (within a few units of the last
// place).
double scaled(long double mantissa, int exponent) {
  long double power = 10;
  bool divide = exponent < 0;
  for (unsigned left = static_cast<unsigned>(divide ? -exponent : exponent); left != 0; left >>= 1) {
    if ((left & 1) != 0) mantissa = divide ? mantissa / power : mantissa * power;
    power *= power;
  }
  return static_cast<double>(mantissa);
}

}  // namespace

Token Lexer::make(TokenKind kind, std::size_t from) const {
  return {kind, std::string_view(text_.data() + from, at_ - from), 0, static_cast<std::uint32_t>(from + 1)};
}

Token Lexer::next() {
  while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  if (at_ == text_.size() || text_[at_] == '#') {
    at_ = text_.size();
    return make(TokenKind::end, at_);
  }
  const std::size_t from = at_;
  const char c = text_[at_];
  const char after = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
  if (is_digit(c) || (c == '.' && is_digit(after))) return number();
  if (c == '"' || c == '\'') return string();
  if (is_name_start(c)) {
    while (at_ < text_.size() && (is_name_start(text_[at_]) || is_digit(text_[at_]))) ++at_;
    return make(TokenKind::name, from);
  }
  const std::string_view pair(text_.data() + at_, text_.size() - at_ < 2 ? 1 : 2);
  for (const std::string_view known : {"<=", ">=", "==", "!=", "=>"}) {
    if (pair == known) {
      at_ += 2;
      return make(TokenKind::symbol, from);
    }
  }
  ++at_;
  return make(std::string_view("(),+-*/%<>@=").find(c) != std::string_view::npos ? TokenKind::symbol : TokenKind::bad,
              from);
}

Token Lexer::number() {
  constexpr int kMaxExponent = 400;
  const std::size_t from = at_;
  long double mantissa = 0;
  int exponent = 0;
  while (at_ < text_.size() && is_digit(text_[at_])) {
    if (mantissa < 1e18L) {
      mantissa = mantissa * 10 + (text_[at_] - '0');
    } else if (exponent < kMaxExponent) {
      ++exponent;
    }
    ++at_;
  }
  if (at_ < text_.size() && text_[at_] == '.') {
    ++at_;
    while (at_ < text_.size() && is_digit(text_[at_])) {
      if (mantissa < 1e18L && exponent > -kMaxExponent) {
        mantissa = mantissa * 10 + (text_[at_] - '0');
        --exponent;
      }
      ++at_;
    }
  }
  if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
    std::size_t digits = at_ + 1;
    const bool negative = digits < text_.size() && text_[digits] == '-';
    if (digits < text_.size() && (text_[digits] == '-' || text_[digits] == '+')) ++digits;
    if (digits == text_.size() || !is_digit(text_[digits])) {
      at_ = digits;
      return make(TokenKind::bad, from);
    }
    int written = 0;
    for (at_ = digits; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
      if (written < kMaxExponent) written = written * 10 + (text_[at_] - '0');
    }
    exponent += negative ? -written : written;
  }
  if (at_ < text_.size() && is_name_start(text_[at_])) {  // 10ms, 3x: units are in the names, not at the numbers
    while (at_ < text_.size() && (is_name_start(text_[at_]) || is_digit(text_[at_]))) ++at_;
    return make(TokenKind::bad, from);
  }
  Token token = make(TokenKind::number, from);
  token.number = mantissa == 0 ? 0 : scaled(mantissa, exponent);
  if (!std::isfinite(token.number)) token.kind = TokenKind::bad;
  return token;
}

Token Lexer::string() {
  const std::size_t from = at_;
  const char quote = text_[at_++];
  while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') ++at_;
  if (at_ == text_.size() || text_[at_] != quote) return make(TokenKind::bad, from);
  ++at_;
  Token token = make(TokenKind::string, from);
  token.text.remove_prefix(1);
  token.text.remove_suffix(1);
  return token;
}

}  // namespace accel::runtime
