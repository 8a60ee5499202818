// report.json: the Document, key by key in the order of document.def.
#include <nlohmann/json.hpp>

#include <cmath>

#include "report/writer.h"

namespace accel::report {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json to_json(const T& value) {
  if constexpr (Described<const T>) {
    Json::object_t object;
    T::fields(value, [&](std::string_view key, const auto& member, std::string_view) {
      object.emplace_back(std::string(key), to_json(member));
    });
    return object;
  } else if constexpr (kIsWord<T>) {
    return value.text;
  } else if constexpr (kIsOptional<T>) {
    return value ? to_json(*value) : Json(nullptr);
  } else if constexpr (kIsList<T>) {
    Json::array_t list;
    list.reserve(value.size());
    for (const auto& element : value) list.push_back(to_json(element));
    return list;
  } else if constexpr (kIsMap<T>) {
    Json::object_t object;
    for (const auto& [key, element] : value) object.emplace_back(key, to_json(element));
    return object;
  } else if constexpr (std::is_same_v<T, double>) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
  } else {
    return value;
  }
}

std::string write(const Document& document, const WriterOptions&) {
  std::string text = to_json(document).dump(1, ' ', false, Json::error_handler_t::replace);
  text += '\n';
  return text;
}

}  // namespace

extern const WriterDescriptor json_writer;
const WriterDescriptor json_writer = {
    "json",
    "JSON, the whole report for programs; its schema: accel-profiler list schema",
    "JSON：供程序读取的完整报告",
    "",
    "report.json",
    write,
};

}  // namespace accel::report
