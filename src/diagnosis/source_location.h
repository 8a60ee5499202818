// Where in the program something happened: the op or call of a slice, and the line of the user's code above it when the
// recording holds Python frames ("path(line): function").
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "diagnosis/rule.h"
#include "trace/trace_store.h"

namespace accel {

struct SourceLine {
  std::string_view file;
  std::int64_t line = 0;
  std::string_view function;
};

// Parts of a frame's name; nothing for built-ins and nn.Module frames. Views into `frame`.
std::optional<SourceLine> parse_frame(std::string_view frame);

// A frame of the framework, the standard library or an installed package, not of the user's own code.
bool is_library_frame(const SourceLine& line);

// The innermost frame at or above the slice that the user wrote; else the innermost one with a line; else invalid.
SliceId user_frame_of(const TraceStore& store, SliceId slice);

// kind and name of the slice itself, file and line of its user frame.
Location locate(const TraceStore& store, SliceId slice);

}  // namespace accel
