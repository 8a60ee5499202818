// "A:B" on the command line: numbers of steps, and times with a unit. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "ingest/importer.h"

namespace accel::cli {

struct Range {
  std::optional<std::int64_t> first;
  std::optional<std::int64_t> last;
};

// "3:8", "3:", ":8", "5" (that one alone); both ends included.
Result<Range> parse_steps(std::string_view text);

// "1.5s:2s", "200ms:", ":300ms" in ns from the start of the trace; units s, ms, us, ns.
Result<Range> parse_times(std::string_view text);

// What --steps and --time say; an empty text asks for nothing. The error names the option.
Result<void> set_ranges(std::string_view steps, std::string_view time, ImportOptions& import);

}  // namespace accel::cli
