// A baseline: the figures of one run in a small file, to compare later runs with. docs/formats/baseline.md describes
// it. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "report/document.h"

namespace accel::report {

inline constexpr int kBaselineVersion = 1;

// The report without what a comparison does not use: levels of memory over time, blocks, shapes of the operator table.
std::string baseline_text(const Document& document);

// Reads every version up to this one. The report of a baseline may lack keys that are newer than it.
Result<Document> parse_baseline(std::string_view text);

}  // namespace accel::report
