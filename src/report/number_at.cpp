#include "report/number_at.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

namespace accel::report {
namespace {

using Json = nlohmann::ordered_json;

Error no_such(const std::string& path, std::string_view why) {
  return {ErrorCode::invalid_argument, fmt::format("'{}': {}; docs/formats/report.md lists every key", path, why), ""};
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

// The row of a list by [3] or [key=value]; null when there is none.
const Json* row_of(const Json& list, std::string_view selector) {
  std::size_t index = 0;
  const auto [end, status] = std::from_chars(selector.data(), selector.data() + selector.size(), index);
  if (status == std::errc{} && end == selector.data() + selector.size())
    return index < list.size() ? &list[index] : nullptr;
  const std::size_t equals = selector.find('=');
  if (equals == std::string_view::npos) return nullptr;
  std::string_view wanted = selector.substr(equals + 1);
  if (wanted.size() >= 2 && wanted.front() == '"' && wanted.back() == '"') wanted = wanted.substr(1, wanted.size() - 2);
  for (const Json& row : list) {
    if (!row.is_object()) continue;
    const auto found = row.find(selector.substr(0, equals));
    if (found != row.end() && text_of(*found) == wanted) return &row;
  }
  return nullptr;
}

std::optional<double> idle_share(const Json& report) {
  const Json& parts = report["time_breakdown_undisturbed"];
  if (!parts.is_object()) return std::nullopt;
  const double whole = parts.value("window_ms", 0.0);
  if (whole <= 0) return std::nullopt;
  return parts.value("idle_ms", 0.0) / whole;
}

}  // namespace

Result<std::optional<double>> number_at(const Json& report, const std::string& path) {
  if (path == "time_breakdown_undisturbed.idle_share") return idle_share(report);
  const Json* at = &report;
  std::string_view rest = path;
  while (!rest.empty()) {
    if (rest.front() == '.') rest.remove_prefix(1);
    if (at->is_null()) return std::optional<double>();
    if (!rest.empty() && rest.front() == '[') {
      const std::size_t close = rest.find(']');
      if (!at->is_array() || close == std::string_view::npos) return no_such(path, "there is no list at '['");
      at = row_of(*at, rest.substr(1, close - 1));
      if (at == nullptr) return std::optional<double>(std::numeric_limits<double>::quiet_NaN());
      rest.remove_prefix(close + 1);
      continue;
    }
    const std::size_t end = std::min(rest.find_first_of(".["), rest.size());
    const std::string_view key = rest.substr(0, end);
    rest.remove_prefix(end);
    if (at->is_array() && key == "count" && rest.empty()) return std::optional<double>(static_cast<double>(at->size()));
    if (at->is_array()) return no_such(path, "a row of the list is chosen by [0] or [key=value]");
    if (!at->is_object() || !at->contains(key)) return no_such(path, fmt::format("there is no '{}'", key));
    at = &(*at)[key];
  }
  if (at->is_null()) return std::optional<double>();
  if (at->is_boolean()) return std::optional<double>(at->get<bool>() ? 1 : 0);
  if (!at->is_number()) return no_such(path, "it is no number");
  return std::optional<double>(at->get<double>());
}

}  // namespace accel::report
