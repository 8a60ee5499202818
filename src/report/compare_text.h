// The comparison of two runs in words: for the terminal, or as Markdown. Pure; any thread.
#pragma once

#include <string>

#include "report/writer.h"

namespace accel::report {

// `document.compare` must be there.
std::string comparison_text(const Document& document, const WriterOptions& options, bool markdown);

}  // namespace accel::report
