#include "report/schema.h"

#include <nlohmann/json.hpp>

#include "report/document.h"

namespace accel::report {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json schema_of();

Json typed(std::string_view type) { return Json{{"type", type}}; }

// The same schema with null allowed.
Json nullable(Json schema) {
  if (schema.contains("type") && schema["type"].is_string()) {
    schema["type"] = Json::array({schema["type"], "null"});
    return schema;
  }
  return Json{{"anyOf", Json::array({std::move(schema), typed("null")})}};
}

template <typename T>
Json object_schema() {
  Json properties = Json::object();
  Json required = Json::array();
  T value;
  T::fields(value, [&]<typename Member>(std::string_view key, Member&, std::string_view meaning) {
    Json member = schema_of<Member>();
    member["description"] = meaning;
    properties[std::string(key)] = std::move(member);
    required.push_back(key);
  });
  Json schema = typed("object");
  if (properties.empty()) return schema;  // a section whose keys are still to come
  schema["properties"] = std::move(properties);
  schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
  return schema;
}

template <typename T>
Json schema_of() {
  if constexpr (Described<T>) {
    return object_schema<T>();
  } else if constexpr (kIsWord<T>) {
    return Json{{"type", "string"}, {"enum", T::list()}};
  } else if constexpr (kIsOptional<T>) {
    return nullable(schema_of<typename T::value_type>());
  } else if constexpr (kIsList<T>) {
    return Json{{"type", "array"}, {"items", schema_of<typename T::value_type>()}};
  } else if constexpr (kIsMap<T>) {
    return Json{{"type", "object"}, {"additionalProperties", schema_of<typename T::mapped_type>()}};
  } else if constexpr (std::is_same_v<T, bool>) {
    return typed("boolean");
  } else if constexpr (std::is_integral_v<T>) {
    return std::is_unsigned_v<T> ? Json{{"type", "integer"}, {"minimum", 0}} : typed("integer");
  } else if constexpr (std::is_floating_point_v<T>) {
    return typed("number");
  } else {
    return typed("string");
  }
}

}  // namespace

std::string json_schema() {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"$id", "urn:accel-profiler:report:" + std::to_string(kSchemaVersion)},
                 {"title", "accel-profiler report.json"}};
  schema.update(object_schema<Document>());
  schema["properties"]["schema_version"]["const"] = kSchemaVersion;
  schema["properties"]["time_origin_ns"]["pattern"] = "^-?[0-9]+$";
  return schema.dump(1) + "\n";
}

}  // namespace accel::report
