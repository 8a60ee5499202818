// The JSON Schema (draft 2020-12) of report.json, made from document.def and from the catalogues of rules and notes, so
// that it cannot drift from what is written. Pure function, any thread.
#pragma once

#include <string>

namespace accel::report {

std::string json_schema();

}  // namespace accel::report
