#include "report/document_json.h"

#include <fmt/format.h>

#include <cmath>

namespace accel::report {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json json_of(const T& value) {
  if constexpr (Described<const T>) {
    Json::object_t object;
    T::fields(value, [&](std::string_view key, const auto& member, std::string_view) {
      object.emplace_back(std::string(key), json_of(member));
    });
    return object;
  } else if constexpr (kIsWord<T>) {
    return value.text;
  } else if constexpr (kIsOptional<T>) {
    return value ? json_of(*value) : Json(nullptr);
  } else if constexpr (kIsList<T>) {
    Json::array_t list;
    list.reserve(value.size());
    for (const auto& element : value) list.push_back(json_of(element));
    return list;
  } else if constexpr (kIsMap<T>) {
    Json::object_t object;
    for (const auto& [key, element] : value) object.emplace_back(key, json_of(element));
    return object;
  } else if constexpr (std::is_same_v<T, double>) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
  } else {
    return value;
  }
}

class Reader {
 public:
  template <typename T>
  void read(const Json& json, T& value) {
    if (!wrong_.empty()) return;
    if constexpr (Described<T>) {
      if (!json.is_object()) return mismatch("an object");
      T::fields(value, [&](std::string_view key, auto& member, std::string_view) {
        const auto found = json.find(key);
        if (found == json.end()) return;
        const std::size_t length = path_.size();
        path_ += (path_.empty() ? "" : ".") + std::string(key);
        read(*found, member);
        if (wrong_.empty()) path_.resize(length);
      });
    } else if constexpr (kIsWord<T>) {
      if (!json.is_string()) return mismatch("a word");
      value.text = json.get<std::string>();
    } else if constexpr (kIsOptional<T>) {
      if (json.is_null()) return value.reset();
      read(json, value.emplace());
    } else if constexpr (kIsList<T>) {
      if (!json.is_array()) return mismatch("a list");
      value.clear();
      value.reserve(json.size());
      for (const Json& element : json) {
        read(element, value.emplace_back());
        if (!wrong_.empty()) return;
      }
    } else if constexpr (kIsMap<T>) {
      if (!json.is_object()) return mismatch("an object");
      value.clear();
      for (const auto& [key, element] : json.items()) read(element, value[key]);
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!json.is_boolean()) return mismatch("true or false");
      value = json.get<bool>();
    } else if constexpr (std::is_integral_v<T>) {
      if (!json.is_number_integer()) return mismatch("an integer");
      value = json.get<T>();
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!json.is_number()) return mismatch("a number");
      value = json.get<T>();
    } else {
      if (!json.is_string()) return mismatch("a string");
      value = json.get<std::string>();
    }
  }

  const std::string& wrong() const { return wrong_; }

 private:
  void mismatch(std::string_view wanted) { wrong_ = fmt::format("{} is not {}", path_.empty() ? "it" : path_, wanted); }

  std::string path_;
  std::string wrong_;
};

}  // namespace

Json to_json(const Document& document) { return json_of(document); }

Result<Document> document_from_json(const Json& json) {
  Document document;
  Reader reader;
  reader.read(json, document);
  if (!reader.wrong().empty())
    return Error{ErrorCode::unreadable, "this is no report of accel-profiler: " + reader.wrong(), ""};
  if (document.schema_version != kSchemaVersion) {
    return Error{
        ErrorCode::unreadable,
        fmt::format("the report has schema_version {}, this program reads {}", document.schema_version, kSchemaVersion),
        ""};
  }
  return document;
}

Result<Document> parse_document(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return Error{ErrorCode::unreadable, "the report is cut off or damaged: it is no JSON", ""};
  return document_from_json(json);
}

}  // namespace accel::report
