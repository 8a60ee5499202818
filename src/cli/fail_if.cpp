#include "cli/fail_if.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/console.h"
#include "report/compare_documents.h"
#include "report/document_json.h"
#include "report/number_at.h"

namespace accel::cli {

void add_fail_if(CLI::App& app, std::vector<std::string>& texts, bool relative) {
  app.add_option("--fail-if", texts,
                 relative
                     ? "exit status 1 when this holds: 'step_time > 1.05x', 'memory.peak > +5% or idle_share > 20%'"
                     : "exit status 1 when this holds: 'idle_share > 20%', 'findings.count > 0'")
      ->type_name("CONDITION")
      ->expected(1)
      ->take_all();
}

std::optional<std::vector<compare::Condition>> parse_conditions(const std::vector<std::string>& texts, bool relative) {
  std::vector<compare::Condition> conditions;
  for (const std::string& text : texts) {
    auto condition = compare::parse_condition(text);
    if (!condition) {
      print_error(Error{condition.error().code, condition.error().message, fmt::format("--fail-if '{}'", text)});
      return std::nullopt;
    }
    if (condition->relative && !relative) {
      print_error(Error{ErrorCode::invalid_argument,
                        "there is no run before to compare with; use accel-profiler compare or baseline check",
                        fmt::format("--fail-if '{}'", text)});
      return std::nullopt;
    }
    conditions.push_back(std::move(*condition));
  }
  return conditions;
}

int check_conditions(const std::vector<compare::Condition>& conditions, const report::Document* before,
                     const report::Document& after) {
  if (conditions.empty()) return kDone;
  const nlohmann::ordered_json now = report::to_json(after);
  const nlohmann::ordered_json then = before != nullptr ? report::to_json(*before) : nlohmann::ordered_json();
  compare::ConditionInput input;
  input.number = [&](bool of_before, const std::string& path) {
    return report::number_at(of_before ? then : now, path);
  };
  if (before != nullptr) input.step_delta_ns = report::step_delta_ns(*before, after);
  int status = kDone;
  for (const compare::Condition& condition : conditions) {
    const auto outcome = compare::check(condition, input);
    if (!outcome) {
      print_error(Error{outcome.error().code, outcome.error().message, fmt::format("--fail-if '{}'", condition.text)});
      return kUsage;
    }
    if (outcome->truth == compare::Truth::no) continue;
    status = kConditionFailed;
    const char* how = outcome->truth == compare::Truth::yes ? "condition met" : "condition cannot be checked";
    print_error(fmt::format("{}: {}: {}", how, condition.text, outcome->reason));
  }
  return status;
}

}  // namespace accel::cli
