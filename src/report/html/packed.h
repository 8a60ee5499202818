// Bytes on their way into the page: columns of numbers, deflated, as text. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace accel::report {

// LEB128: seven bits a byte, the lowest first.
inline void append_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

// Raw deflate (RFC 1951), what DecompressionStream calls deflate-raw.
std::string deflated(std::string_view bytes);

std::string base64(std::string_view bytes);

}  // namespace accel::report
