// English words for what a copy or set did; empty for unknown. Any thread.
#pragma once

#include <array>
#include <string_view>

#include "trace/schema.h"

namespace accel::report {

inline std::string_view direction_word(CopyDirection direction) {
  constexpr std::array<std::string_view, 6> kWords = {"",     "host to device", "device to host", "device to device",
                                                      "peer", "host to host"};
  return kWords[static_cast<std::size_t>(direction)];
}

inline std::string_view memory_word(MemoryKind kind) {
  constexpr std::array<std::string_view, 6> kWords = {"", "pageable", "pinned", "device", "managed", "array"};
  return kWords[static_cast<std::size_t>(kind)];
}

}  // namespace accel::report
