#include "cli/ranges.h"

#include <charconv>
#include <cmath>
#include <string>
#include <utility>

namespace accel::cli {
namespace {

Error mistake(std::string message) { return Error{ErrorCode::invalid_argument, std::move(message), ""}; }

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_time(std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"ns", 1.0}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  for (const auto& [unit, ns] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const std::string_view digits = text.substr(0, text.size() - unit.size());
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || digits.empty()) return std::nullopt;
    if (!(value >= 0) || value * ns > 9e18) return std::nullopt;
    return std::llround(value * ns);
  }
  return std::nullopt;
}

template <typename Parse>
Result<Range> parse_range(std::string_view text, const char* expected, Parse&& parse) {
  const std::size_t colon = text.find(':');
  Range range;
  const auto end = [&](std::string_view part, std::optional<std::int64_t>& value) {
    if (part.empty()) return true;
    value = parse(part);
    return value.has_value();
  };
  const bool good = colon == std::string_view::npos ? !text.empty() && end(text, range.first) && end(text, range.last)
                                                    : text.size() > 1 && end(text.substr(0, colon), range.first) &&
                                                          end(text.substr(colon + 1), range.last);
  if (!good) return mistake("'" + std::string(text) + "' is no range; write it like " + expected);
  if (range.first && range.last && *range.first > *range.last)
    return mistake("'" + std::string(text) + "' ends before it begins");
  return range;
}

}  // namespace

Result<Range> parse_steps(std::string_view text) { return parse_range(text, "3:8, 3:, :8 or 5", parse_number); }

Result<Range> parse_times(std::string_view text) {
  if (text.find(':') == std::string_view::npos)
    return mistake("'" + std::string(text) + "' is no range; write it like 1.5s:2s, 200ms: or :300ms");
  return parse_range(text, "1.5s:2s, 200ms: or :300ms", parse_time);
}

Result<void> set_ranges(std::string_view steps, std::string_view time, ImportOptions& import) {
  if (!steps.empty()) {
    const auto range = parse_steps(steps);
    if (!range) return Error{ErrorCode::invalid_argument, range.error().message, "--steps"};
    import.first_step = range->first;
    import.last_step = range->last;
  }
  if (!time.empty()) {
    const auto range = parse_times(time);
    if (!range) return Error{ErrorCode::invalid_argument, range.error().message, "--time"};
    import.from_ns = range->first;
    import.to_ns = range->last;
  }
  return {};
}

}  // namespace accel::cli
