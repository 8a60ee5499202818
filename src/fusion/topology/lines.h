// Lines of a tool's output as a person may have pasted it: without colour codes, carriage returns and byte order mark.
// Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace accel::fusion {

// Colour codes are taken off, also where their escape byte was lost on the way ("[4mGPU0").
std::vector<std::string> plain_lines(std::string_view text);
std::string_view trimmed(std::string_view text);
std::vector<std::string_view> words_of(std::string_view line);
// Parts between tabs, trimmed, empty ones kept.
std::vector<std::string_view> cells_of(std::string_view line, char separator);
// Digits alone, small enough; nothing else.
std::optional<std::int64_t> number_of(std::string_view text);
// For a message: at most 24 characters, printable ones.
std::string quoted(std::string_view word);

}  // namespace accel::fusion
