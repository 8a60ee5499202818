// Which keys of a Document are null or an empty section, and why. "Not measured" is never 0: whatever is null in the
// output is named in not_measured, with [] for the rows of a list. Pure functions, any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "report/document.h"

namespace accel::report {

// Every path that is null, or an empty section, in the order of the keys; each once.
std::vector<std::string> unmeasured_paths(const Document& document);

// One entry per unmeasured path. The reason is that of the longest path in `reasons` that begins it.
std::vector<NotMeasured> explain_unmeasured(const Document& document,
                                            const std::map<std::string, std::string>& reasons);

}  // namespace accel::report
