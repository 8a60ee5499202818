// The fixed words of the reports in the languages that they speak, declared in labels.def. Pure functions, any thread.
#pragma once

#include <optional>
#include <string_view>

namespace accel::report {

enum class Language { english, chinese };

// "en", "zh"; nothing for others.
std::optional<Language> parse_language(std::string_view code);

enum class Label {
#define LABEL(id, english, chinese) id,
#include "report/labels.def"
#undef LABEL
};

std::string_view label(Label id, Language language);
// The label whose id is `name`; `name` itself when there is none.
std::string_view label_named(std::string_view name, Language language);

}  // namespace accel::report
