#include "report/anonymize/pseudonyms.h"

#include <nlohmann/json.hpp>
#include <vector>

namespace accel::report {

const std::string& Pseudonyms::of(std::string_view kind, std::string_view name) {
  static const std::string kNone;
  if (name.empty()) return kNone;
  auto names = kinds_.find(kind);
  if (names == kinds_.end()) names = kinds_.emplace(std::string(kind), Names()).first;
  const auto known = names->second.find(name);
  if (known != names->second.end()) return known->second;
  const std::string pseudonym = std::string(kind) + '_' + std::to_string(names->second.size() + 1);
  return names->second.emplace(std::string(name), pseudonym).first->second;
}

std::string Pseudonyms::to_json() const {
  nlohmann::ordered_json key = nlohmann::ordered_json::object();
  for (const auto& [kind, names] : kinds_) {
    std::vector<const Names::value_type*> in_order;
    for (const auto& entry : names) in_order.push_back(&entry);
    const auto number = [&](const Names::value_type* entry) {
      return std::stoull(entry->second.substr(kind.size() + 1));
    };
    std::sort(in_order.begin(), in_order.end(), [&](const auto* a, const auto* b) { return number(a) < number(b); });
    nlohmann::ordered_json& out = key[kind] = nlohmann::ordered_json::object();
    for (const auto* entry : in_order) out[entry->second] = entry->first;
  }
  return key.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

Result<Pseudonyms> Pseudonyms::from_json(std::string_view text, const std::string& path) {
  const auto no_key = [&](std::string_view why) {
    return Error{ErrorCode::invalid_argument, "this is no key of --anonymize: " + std::string(why), path};
  };
  const nlohmann::json key = nlohmann::json::parse(text, nullptr, false);
  if (!key.is_object()) return no_key("it holds no JSON object");
  Pseudonyms made;
  for (const auto& [kind, names] : key.items()) {
    if (!names.is_object()) return no_key("'" + kind + "' is no object");
    Names& known = made.kinds_[kind];
    for (std::size_t number = 1; number <= names.size(); ++number) {
      const std::string pseudonym = kind + '_' + std::to_string(number);
      const auto entry = names.find(pseudonym);
      if (entry == names.end() || !entry->is_string()) return no_key("'" + pseudonym + "' is missing");
      if (!known.emplace(entry->get<std::string>(), pseudonym).second) return no_key("a name stands in it twice");
    }
  }
  return made;
}

}  // namespace accel::report
