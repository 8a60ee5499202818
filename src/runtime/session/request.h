// Request: one line that came through the control socket, as plain data. Pure function; docs/design/runtime-states.md
// lists the requests.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/session/window_plan.h"

namespace accel::runtime {

struct Request {
  enum class Kind : std::uint8_t {
    unknown,
    capture,
    stop,
    status,
    rule,
    bad_setting,  // text: the setting that is none or out of range
  };
  Kind kind = Kind::unknown;
  Schedule schedule;      // of a capture
  std::string_view text;  // of a rule; a view into the line
};

Request parse_request(std::string_view line);

inline constexpr const char* kRequestForms =
    "capture [steps=N] [warmup=N] [wait=N] [at=N] [repeat=N] [level=N] [device=N], stop, status, rule TEXT";

}  // namespace accel::runtime
