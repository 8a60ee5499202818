#include "report/baseline.h"

#include <fmt/format.h>

#include "report/document_json.h"

namespace accel::report {
namespace {

constexpr const char* kFormat = "accel-profiler baseline";

}  // namespace

std::string baseline_text(const Document& document) {
  Document kept = document;
  for (MemoryDevice& device : kept.memory.devices) {
    device.timeline = {};
    if (device.peak) device.peak->largest.clear();
  }
  for (Operator& op : kept.operators) op.shapes.reset();
  kept.compare.reset();
  const nlohmann::ordered_json json = {
      {"format", kFormat}, {"format_version", kBaselineVersion}, {"report", to_json(kept)}};
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Result<Document> parse_baseline(std::string_view text) {
  const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object())
    return Error{ErrorCode::unreadable, "the baseline is cut off or damaged: it is no JSON", ""};
  if (!json.contains("format") || json["format"] != kFormat)
    return Error{ErrorCode::unreadable, "this is no baseline", ""};
  const auto version = json.find("format_version");
  if (version == json.end() || !version->is_number_integer() || version->get<std::int64_t>() < 1 ||
      version->get<std::int64_t>() > kBaselineVersion) {
    return Error{ErrorCode::unreadable,
                 fmt::format("the baseline has a format_version that this program does not read (it reads up to {})",
                             kBaselineVersion),
                 ""};
  }
  const auto report = json.find("report");
  if (report == json.end()) return Error{ErrorCode::unreadable, "the baseline holds no report", ""};
  return document_from_json(*report);
}

}  // namespace accel::report
