#include "report/chrome_json/json_event.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

namespace accel::report::chrome_json {

using Json = nlohmann::json;

std::string quoted(std::string_view text) { return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace); }

void JsonEvent::begin(std::string_view phase, std::string_view category) {
  out_ = "{\"ph\":\"";
  out_ += phase;
  out_ += '"';
  in_args_ = any_arg_ = false;
  if (!category.empty()) put_word("cat", category);
}

void JsonEvent::begin_args() { in_args_ = true; }

std::string_view JsonEvent::end() {
  if (any_arg_) out_ += '}';
  out_ += '}';
  return out_;
}

void JsonEvent::key(std::string_view key) {
  if (in_args_ && !any_arg_) {
    out_ += ",\"args\":{\"";
    any_arg_ = true;
  } else {
    out_ += ",\"";
  }
  out_ += key;
  out_ += "\":";
}

const std::string& JsonEvent::quoted(StringId id) {
  std::string& known = text_[id.value].quoted;
  if (known.empty()) known = chrome_json::quoted(store_.text(id));
  return known;
}

void JsonEvent::put(std::string_view name, std::int64_t value) {
  if (value == kNotRecorded) return;
  key(name);
  fmt::format_to(std::back_inserter(out_), "{}", value);
}

void JsonEvent::put_real(std::string_view name, double value) {
  if (!std::isfinite(value)) return;
  key(name);
  fmt::format_to(std::back_inserter(out_), "{}", value);
}

void JsonEvent::put_real(std::string_view name, float value) {
  if (!std::isfinite(value)) return;
  key(name);
  fmt::format_to(std::back_inserter(out_), "{}", value);
}

void JsonEvent::put_word(std::string_view name, std::string_view value) {
  key(name);
  out_ += chrome_json::quoted(value);
}

void JsonEvent::put_text(std::string_view name, StringId value) {
  if (!value.valid()) return;
  key(name);
  out_ += quoted(value);
}

void JsonEvent::put_recorded(std::string_view name, StringId value) {
  if (!value.valid() || store_.text(value).empty()) return;
  std::string& known = text_[value.value].recorded;
  if (known.empty()) known = Json::accept(store_.text(value)) ? std::string(store_.text(value)) : quoted(value);
  key(name);
  out_ += known;
}

void JsonEvent::put_microseconds(std::string_view name, std::int64_t ns) {
  key(name);
  const bool negative = ns < 0;
  const std::uint64_t size = negative ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  fmt::format_to(std::back_inserter(out_), "{}{}.{:03}", negative ? "-" : "", size / 1000, size % 1000);
}

void JsonEvent::put_series(std::string_view series, double value) {
  const std::string name = chrome_json::quoted(series);
  put_real(std::string_view(name).substr(1, name.size() - 2), value);
}

void JsonEvent::put_triple(std::string_view name, std::int32_t x, std::int32_t y, std::int32_t z) {
  if (x == kNotRecorded32) return;
  key(name);
  fmt::format_to(std::back_inserter(out_), "[{},{},{}]", x, y, z);
}

}  // namespace accel::report::chrome_json
