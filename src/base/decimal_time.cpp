#include "base/decimal_time.h"

#include <limits>

namespace accel {
namespace {

constexpr int kNsDigits = 3;  // a microsecond has three decimal digits of nanoseconds

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Digits and exponent of a JSON number; value = digits * 10^exponent.
struct Scanned {
  bool ok = false;
  bool negative = false;
  std::string_view whole;
  std::string_view fraction;
  long exponent = 0;
};

Scanned scan(std::string_view text) {
  Scanned s;
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t from = i;
    while (i < text.size() && is_digit(text[i])) ++i;
    return text.substr(from, i - from);
  };
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) s.negative = text[i++] == '-';
  s.whole = digits();
  if (i < text.size() && text[i] == '.') {
    ++i;
    s.fraction = digits();
  }
  if (s.whole.empty() && s.fraction.empty()) return s;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    bool negative = false;
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) negative = text[i++] == '-';
    const std::string_view exponent = digits();
    if (exponent.empty()) return s;
    for (const char c : exponent) {
      if (s.exponent < 10000) s.exponent = s.exponent * 10 + (c - '0');
    }
    if (negative) s.exponent = -s.exponent;
  }
  s.ok = i == text.size();
  return s;
}

}  // namespace

DecimalTime parse_microseconds(std::string_view text) {
  const Scanned s = scan(text);
  if (!s.ok) return {};
  constexpr std::uint64_t kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const long digits = static_cast<long>(s.whole.size() + s.fraction.size());
  const auto digit = [&](long i) {
    const auto at = static_cast<std::size_t>(i);
    return static_cast<unsigned>((at < s.whole.size() ? s.whole[at] : s.fraction[at - s.whole.size()]) - '0');
  };
  // Digits [0, kept) make whole nanoseconds; the rest is finer.
  const long kept = static_cast<long>(s.whole.size()) + s.exponent + kNsDigits;
  std::uint64_t value = 0;
  for (long i = 0; i < kept && (i < digits || value != 0); ++i) {
    const unsigned d = i < digits ? digit(i) : 0;
    if (value > (kMax - d) / 10) return {0, DecimalTime::Status::out_of_range};
    value = value * 10 + d;
  }
  bool rounded = false;
  bool above_half = false;
  unsigned first = 0;
  for (long i = kept < 0 ? 0 : kept; i < digits; ++i) {
    const unsigned d = digit(i);
    if (d == 0) continue;
    rounded = true;
    if (i == kept) {
      first = d;
    } else {
      above_half = true;
    }
  }
  if (kept < 0) first = 0;
  if (first > 5 || (first == 5 && (above_half || (value & 1) != 0))) ++value;
  if (value > kMax) return {0, DecimalTime::Status::out_of_range};
  const auto ns = static_cast<std::int64_t>(value);
  return {s.negative ? -ns : ns, rounded ? DecimalTime::Status::rounded : DecimalTime::Status::ok};
}

}  // namespace accel
