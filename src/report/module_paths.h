// Modules by their place in the model, so that two runs can be laid beside each other: the profiler numbers objects of
// a class in the order in which it meets them, and one more layer renumbers all after it. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "report/document.h"

namespace accel::report {

// For each row "Net/Block[2]/Linear[0]": classes from the outermost module on, and which of its kind inside the same
// module. The first step that differs between two models is then the only one that does not align.
std::vector<std::string> module_paths(const std::vector<Scope>& modules);

}  // namespace accel::report
