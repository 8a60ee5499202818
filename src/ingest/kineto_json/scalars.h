// Raw JSON tokens to values. A token is a view of JSON text: a number, a word, or a string with its quotes. Pure
// functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace accel::kineto_json {

enum class Parsed : std::uint8_t {
  ok,
  absent,        // no token, null, or something that is no number at all
  not_a_number,  // NaN, Infinity and their spellings
  out_of_range,  // a number that 64 bits do not hold
  rounded,       // a time finer than a nanosecond
};

inline bool is_string(std::string_view token) {
  return token.size() >= 2 && token.front() == '"' && token.back() == '"';
}
// A string token without its quotes, escapes as they stand; any other token unchanged.
inline std::string_view without_quotes(std::string_view token) {
  return is_string(token) ? token.substr(1, token.size() - 2) : token;
}

// An integer, bare or as a string. Unsigned values above int64 keep their 64 bits. A fraction is cut off.
Parsed parse_integer(std::string_view token, std::int64_t& out);
Parsed parse_float(std::string_view token, double& out);
// Microseconds to nanoseconds, bare or as a string.
Parsed parse_time(std::string_view token, std::int64_t& out);

// The text of a string token, escapes resolved. Escapes that JSON does not know are literal backslashes, and a string
// that has one (a Windows path written raw) has only literal ones, but for \" and \\. `repaired` is then set.
std::string_view text_of(std::string_view token, std::string& scratch, bool& repaired);

}  // namespace accel::kineto_json
