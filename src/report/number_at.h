// Any number of a report by its path: step_time.mean_ms, breakdown[0].measured.idle_ms,
// findings[rule=launch_bound].cost_ms_per_step, notes.count. Pure; any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/result.h"

namespace accel::report {

// Nothing when the number is null or its part was not measured; NaN when a list has no such row; an error when no
// report has such a number. `report` is the whole report as JSON.
Result<std::optional<double>> number_at(const nlohmann::ordered_json& report, const std::string& path);

}  // namespace accel::report
