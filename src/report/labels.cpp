#include "report/labels.h"

#include <cstddef>

namespace accel::report {
namespace {

struct Entry {
  std::string_view id;
  std::string_view english;
  std::string_view chinese;
};

constexpr Entry kEntries[] = {
#define LABEL(id, english, chinese) {#id, english, chinese},
#include "report/labels.def"
#undef LABEL
};

std::string_view in(const Entry& entry, Language language) {
  return language == Language::chinese ? entry.chinese : entry.english;
}

}  // namespace

std::optional<Language> parse_language(std::string_view code) {
  if (code == "en") return Language::english;
  if (code == "zh") return Language::chinese;
  return std::nullopt;
}

std::string_view label(Label id, Language language) { return in(kEntries[static_cast<std::size_t>(id)], language); }

std::string_view label_named(std::string_view name, Language language) {
  for (const Entry& entry : kEntries) {
    if (entry.id == name) return in(entry, language);
  }
  return name;
}

}  // namespace accel::report
