// Letters of ASCII alone, without a locale: names of kernels and ops are matched by the hundred thousand. Pure.
#pragma once

#include <string>
#include <string_view>

namespace accel {

inline std::string ascii_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

}  // namespace accel
