// Strings from a trace are data. These functions make them safe to show: in JSON (valid UTF-8), on a terminal (no
// control sequences, no direction tricks) and in Markdown (nothing of it is markup). Pure functions, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace accel::report {

// Bytes that are not UTF-8 become U+FFFD, one for each maximal bad sequence; everything else stays.
std::string valid_utf8(std::string_view text);

// valid_utf8, and control characters and invisible or direction-changing ones as \x1b, \n, \u{202e}.
std::string visible_text(std::string_view text);

// visible_text as Markdown that shows exactly that text: no markup, no HTML, no link.
std::string markdown_text(std::string_view text);

// visible_text as a Markdown code span that is also safe inside a table cell.
std::string markdown_code(std::string_view text);

// Columns that the text takes on a terminal: East Asian wide characters count two, combining ones none.
std::size_t display_width(std::string_view text);

// At most `columns` columns; a longer text loses its middle, which becomes "...".
std::string shortened(std::string_view text, std::size_t columns);

// Lines of at most `columns` columns, broken at blanks (words that are longer stand alone and run over). A figure keeps
// its unit.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

}  // namespace accel::report
