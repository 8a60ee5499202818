#include "ingest/kineto_json/scalars.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/decimal_time.h"

namespace accel::kineto_json {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Eight characters at once, as a 64-bit word (the way of Lemire's fast_float).
std::uint64_t load64(const char* p) {
  std::uint64_t v;
  std::memcpy(&v, p, 8);
  return v;
}
bool are_eight_digits(const char* p) {
  const std::uint64_t v = load64(p);
  return (((v + 0x4646464646464646) | (v - 0x3030303030303030)) & 0x8080808080808080) == 0;
}
std::uint64_t eight_digits(const char* p) {
  std::uint64_t v = load64(p) - 0x3030303030303030;
  v = v * 10 + (v >> 8);
  return (((v & 0x000000FF000000FF) * 0x000F424000000064 + ((v >> 16 & 0x000000FF000000FF) * 0x0000271000000001)) >>
          32) &
         0xFFFFFFFF;
}

// Why a token that is not a plain number is none.
Parsed classify(std::string_view token) {
  std::string_view word = token;
  if (!word.empty() && (word[0] == '-' || word[0] == '+')) word.remove_prefix(1);
  if (word.empty()) return Parsed::absent;
  const char c = word[0];
  if (c == 'N' || c == 'I' || c == 'i') return Parsed::not_a_number;
  return c == 'n' && word.size() > 1 && (word[1] == 'a' || word[1] == 'A') ? Parsed::not_a_number : Parsed::absent;
}

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// The code unit of "\uXXXX" at `at`, or -1.
int code_unit(std::string_view text, std::size_t at) {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return -1;
  int value = 0;
  for (std::size_t i = at + 2; i < at + 6; ++i) {
    const int digit = hex_digit(text[i]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

void append_utf8(std::string& out, std::uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

bool has_unknown_escape(std::string_view text) {
  for (std::size_t i = text.find('\\'); i != std::string_view::npos; i = text.find('\\', i)) {
    if (i + 1 >= text.size()) return true;
    const char c = text[i + 1];
    if (c == 'u' ? code_unit(text, i) < 0 : std::strchr("\"\\/bfnrt", c) == nullptr || c == '\0') return true;
    i += 2;
  }
  return false;
}

// One known escape at text[i]; returns the bytes it took.
std::size_t append_escape(std::string_view text, std::size_t i, std::string& out) {
  switch (text[i + 1]) {
    case 'b':
      out += '\b';
      return 2;
    case 'f':
      out += '\f';
      return 2;
    case 'n':
      out += '\n';
      return 2;
    case 'r':
      out += '\r';
      return 2;
    case 't':
      out += '\t';
      return 2;
    case 'u':
      break;
    default:
      out += text[i + 1];
      return 2;
  }
  const auto unit = static_cast<std::uint32_t>(code_unit(text, i));
  if (unit < 0xD800 || unit > 0xDFFF) {
    append_utf8(out, unit);
    return 6;
  }
  const int low = unit < 0xDC00 ? code_unit(text, i + 6) : -1;
  if (low >= 0xDC00 && low <= 0xDFFF) {
    append_utf8(out, 0x10000 + ((unit - 0xD800) << 10) + (static_cast<std::uint32_t>(low) - 0xDC00));
    return 12;
  }
  append_utf8(out, 0xFFFD);  // half of a pair stands for nothing
  return 6;
}

}  // namespace

Parsed parse_integer(std::string_view token, std::int64_t& out) {
  token = without_quotes(token);
  std::size_t i = 0;
  const bool negative = !token.empty() && token[0] == '-';
  if (negative) ++i;
  const std::size_t first = i;
  std::uint64_t value = 0;
  for (; i < token.size() && is_digit(token[i]); ++i) {
    const auto digit = static_cast<unsigned>(token[i] - '0');
    if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) return Parsed::out_of_range;
    value = value * 10 + digit;
  }
  if (i == first) return classify(token);
  if (i < token.size()) {
    if (token[i] != '.' && token[i] != 'e' && token[i] != 'E') return Parsed::absent;
    double real = 0;
    if (parse_float(token, real) != Parsed::ok) return Parsed::absent;
    if (!(std::abs(real) < 9.2e18)) return Parsed::out_of_range;
    out = static_cast<std::int64_t>(real);
    return Parsed::ok;
  }
  // The lowest int64 means "not recorded" to the store.
  if (negative && value >= std::uint64_t{1} << 63) return Parsed::out_of_range;
  if (value == std::uint64_t{1} << 63) return Parsed::out_of_range;
  out = static_cast<std::int64_t>(negative ? 0 - value : value);
  return Parsed::ok;
}

Parsed parse_float(std::string_view token, double& out) {
  token = without_quotes(token);
  if (token.empty() || !(is_digit(token[0]) || token[0] == '-' || token[0] == '.')) return classify(token);
  if (token[0] == '-' && token.size() > 1 && !is_digit(token[1]) && token[1] != '.') return classify(token);
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), out);
  if (error == std::errc::result_out_of_range) return Parsed::out_of_range;
  return error == std::errc() && end == token.data() + token.size() ? Parsed::ok : Parsed::absent;
}

Parsed parse_time(std::string_view token, std::int64_t& out) {
  token = without_quotes(token);
  // Nearly every time is "digits" or "digits.ddd" of few enough digits.
  const std::size_t n = token.size();
  std::size_t whole = n;
  for (std::size_t back = 2; back <= 4 && back < n; ++back) {
    if (token[n - back] == '.') whole = n - back;
  }
  if (whole > 0 && whole <= 15) {
    const char* const p = token.data();
    std::uint64_t value = 0;
    bool digits = true;
    std::size_t i = 0;
    for (; i + 8 <= whole; i += 8) {
      digits = digits && are_eight_digits(p + i);
      value = value * 100'000'000 + eight_digits(p + i);
    }
    for (; i < whole; ++i) {
      digits = digits && is_digit(p[i]);
      value = value * 10 + static_cast<unsigned char>(p[i] - '0');
    }
    for (i = whole + 1; i < n; ++i) {
      digits = digits && is_digit(p[i]);
      value = value * 10 + static_cast<unsigned char>(p[i] - '0');
    }
    if (digits) {
      constexpr std::uint64_t kScale[] = {1000, 1000, 100, 10, 1};  // by characters from the point on
      out = static_cast<std::int64_t>(value * kScale[n - whole]);
      return Parsed::ok;
    }
  }
  const DecimalTime time = parse_microseconds(token);
  out = time.ns;
  switch (time.status) {
    case DecimalTime::Status::ok:
      return Parsed::ok;
    case DecimalTime::Status::rounded:
      return Parsed::rounded;
    case DecimalTime::Status::out_of_range:
      return Parsed::out_of_range;
    case DecimalTime::Status::not_a_number:
      break;
  }
  return classify(token);
}

std::string_view text_of(std::string_view token, std::string& scratch, bool& repaired) {
  const std::string_view text = without_quotes(token);
  if (text.empty() || std::memchr(text.data(), '\\', text.size()) == nullptr) return text;
  const bool raw = has_unknown_escape(text);
  repaired = raw;
  scratch.clear();
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != '\\') {
      scratch += text[i++];
    } else if (raw) {
      const bool known = i + 1 < text.size() && (text[i + 1] == '"' || text[i + 1] == '\\');
      scratch += known ? text[i + 1] : '\\';
      i += known ? 2 : 1;
    } else {
      i += append_escape(text, i, scratch);
    }
  }
  return scratch;
}

}  // namespace accel::kineto_json
