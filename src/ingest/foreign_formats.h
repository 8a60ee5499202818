// What people hand over in place of a trace, and what to tell them. Pure functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace accel {

// Two sentences for a person, what it is and what to do, if `head` (the start of the unpacked content) is one of the
// formats known to be no trace that can be read here.
std::optional<std::string> describe_foreign(std::string_view head, std::string_view path);

// The same for content of no known format at all: text, JSON or binary.
std::string describe_unknown(std::string_view head);

}  // namespace accel
