// Times are decimal text in, int64 ns out, never through a double (17 and more digits do not fit one).
// Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace accel {

struct DecimalTime {
  enum class Status : std::uint8_t { ok, rounded, out_of_range, not_a_number };
  std::int64_t ns = 0;
  Status status = Status::not_a_number;
};

// `text` is a JSON number (sign, fraction and exponent allowed, surrounding quotes not) in microseconds. Digits finer
// than 1 ns are rounded half-even and the status says so.
DecimalTime parse_microseconds(std::string_view text);

}  // namespace accel
