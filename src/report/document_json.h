// A Document as JSON and back, key by key as document.def declares it. Pure functions, any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/result.h"
#include "report/document.h"

namespace accel::report {

nlohmann::ordered_json to_json(const Document& document);

// Keys that are missing keep their defaults and keys that are unknown are passed over, so that reports of older and
// newer versions of one schema_version can be read. A key of the wrong type is an error that names it.
Result<Document> document_from_json(const nlohmann::ordered_json& json);
// The same from text: report.json.
Result<Document> parse_document(std::string_view text);

}  // namespace accel::report
