// --fail-if: conditions on the numbers of one run, or of two, and what the shell is told. One thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare/condition.h"
#include "report/document.h"

namespace CLI {
class App;
}

namespace accel::cli {

// Adds the option; every use is one more condition.
void add_fail_if(CLI::App& app, std::vector<std::string>& texts, bool relative);

// Says what is wrong on standard error; nothing then. `relative`: there is a run before.
std::optional<std::vector<compare::Condition>> parse_conditions(const std::vector<std::string>& texts, bool relative);

// Checks all and prints the reason of each that holds, or that cannot be checked because its number was not measured.
// Returns kDone, kConditionFailed or, for a number that no report has, kUsage. `before` may be null.
int check_conditions(const std::vector<compare::Condition>& conditions, const report::Document* before,
                     const report::Document& after);

}  // namespace accel::cli
