#include "ingest/kineto_json/exact_reader.h"

namespace accel::kineto_json {
namespace {

using Status = ExactReader::Status;
using Outcome = ExactReader::Outcome;

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool is_structure(char c) { return c == ',' || c == ':' || c == '{' || c == '}' || c == '[' || c == ']'; }

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

// What a byte means inside a string.
enum StringByte : std::uint8_t { plain, quote, backslash, control, high };
struct StringTable {
  std::uint8_t kind[256] = {};
  constexpr StringTable() {
    for (int i = 0; i < 256; ++i) kind[i] = i < 0x20 ? control : i >= 0x80 ? high : plain;
    kind[static_cast<unsigned char>('"')] = quote;
    kind[static_cast<unsigned char>('\\')] = backslash;
  }
};
constexpr StringTable kStringBytes;

// The keys that an event may begin with.
constexpr std::string_view kFirstKeys[] = {"ph", "name", "cat", "pid", "tid", "ts", "id", "dur", "args", "s", "bp"};

// Whether text[at] is a brace followed by the key of an event.
bool starts_event(std::string_view text, std::size_t at) {
  std::size_t i = skip_space(text, at + 1);
  if (i >= text.size() || text[i] != '"') return false;
  ++i;
  for (const std::string_view key : kFirstKeys) {
    if (text.compare(i, key.size(), key) != 0) continue;
    const std::size_t end = i + key.size();
    if (end >= text.size() || text[end] != '"') continue;
    const std::size_t colon = skip_space(text, end + 1);
    if (colon < text.size() && text[colon] == ':') return true;
  }
  return false;
}

}  // namespace

bool is_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto tail = [&](std::size_t i, unsigned low, unsigned high) { return byte(i) >= low && byte(i) <= high; };
  for (std::size_t i = 0; i < text.size();) {
    const unsigned c = byte(i);
    if (c < 0x80) {
      ++i;
    } else if (c >= 0xC2 && c <= 0xDF && tail(i + 1, 0x80, 0xBF)) {
      i += 2;
    } else if (c >= 0xE0 && c <= 0xEF && tail(i + 1, c == 0xE0 ? 0xA0 : 0x80, c == 0xED ? 0x9F : 0xBF) &&
               tail(i + 2, 0x80, 0xBF)) {
      i += 3;
    } else if (c >= 0xF0 && c <= 0xF4 && tail(i + 1, c == 0xF0 ? 0x90 : 0x80, c == 0xF4 ? 0x8F : 0xBF) &&
               tail(i + 2, 0x80, 0xBF) && tail(i + 3, 0x80, 0xBF)) {
      i += 4;
    } else {
      return false;
    }
  }
  return true;
}

Outcome ExactReader::skip_string(std::string_view text, std::size_t at, StringFaults& faults) const {
  bool control = false;
  bool high = false;
  std::size_t i = at + 1;
  for (; i < text.size(); ++i) {
    const std::uint8_t kind = kStringBytes.kind[static_cast<unsigned char>(text[i])];
    if (kind == StringByte::plain) continue;
    if (kind == StringByte::quote) break;
    if (kind == StringByte::backslash) {
      ++i;
      // The escaped byte may itself be a control character or the start of one that is not UTF-8.
      if (i < text.size()) {
        const std::uint8_t next = kStringBytes.kind[static_cast<unsigned char>(text[i])];
        control = control || next == StringByte::control;
        high = high || next == StringByte::high;
      }
    } else {
      control = control || kind == StringByte::control;
      high = high || kind == StringByte::high;
    }
  }
  if (i >= text.size()) return {Status::need_more, text.size()};
  faults.control_characters += control ? 1 : 0;
  if (high && !is_utf8(text.substr(at + 1, i - at - 1))) ++faults.bad_utf8;
  return {Status::complete, i + 1};
}

Outcome ExactReader::skip_value(std::string_view text, std::size_t at, StringFaults& faults) const {
  if (at >= text.size()) return {Status::need_more, text.size()};
  if (text[at] == '"') return skip_string(text, at, faults);
  if (text[at] != '{' && text[at] != '[') {
    if (is_structure(text[at])) return {Status::broken, at};
    // A number or a word, read up to white space or structure. A quote inside opens a string, as it does for simdjson.
    std::size_t i = at;
    while (i < text.size() && !is_space(text[i]) && !is_structure(text[i])) {
      if (text[i] == '"') {
        const Outcome inner = skip_string(text, i, faults);
        if (inner.status != Status::complete) return inner;
        i = inner.end;
      } else {
        i += text[i] == '\\' ? 2 : 1;
      }
    }
    return i < text.size() ? Outcome{Status::complete, i} : Outcome{Status::need_more, text.size()};
  }
  std::size_t depth = 0;
  for (std::size_t i = at; i < text.size();) {
    const char c = text[i];
    if (c == '"') {
      const Outcome inner = skip_string(text, i, faults);
      if (inner.status != Status::complete) return inner;
      i = inner.end;
      continue;
    }
    i += c == '\\' ? 2 : 1;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return {Status::complete, i};
  }
  return {Status::need_more, text.size()};
}

Outcome ExactReader::read_members(std::string_view text, std::size_t at, RawEvent& event, StringFaults& faults,
                                  bool inside_args) {
  const bool all = inside_args && event.wants_all_args();
  std::size_t i = skip_space(text, at + 1);
  if (i < text.size() && text[i] == '}') return {Status::complete, i + 1};
  while (true) {
    if (i >= text.size()) return {Status::need_more, text.size()};
    if (text[i] != '"') return {Status::broken, i};
    const std::size_t key_at = i + 1;
    const Outcome key_end = skip_string(text, i, faults);
    if (key_end.status != Status::complete) return key_end;
    const std::string_view name = text.substr(key_at, key_end.end - 1 - key_at);
    i = skip_space(text, key_end.end);
    if (i >= text.size()) return {Status::need_more, text.size()};
    if (text[i] != ':') return {Status::broken, i};
    i = skip_space(text, i + 1);
    if (i >= text.size()) return {Status::need_more, text.size()};
    const Key key = inside_args ? Key::unknown : find_key(name);
    Outcome value;
    if (key == Key::args && text[i] == '{') {
      value = read_members(text, i, event, faults, true);
    } else {
      value = skip_value(text, i, faults);
      if (value.status == Status::complete) {
        const std::string_view raw = text.substr(i, value.end - i);
        if (inside_args) {
          event.set(find_arg(name), raw);
          if (all) event.add_arg(name, raw);
        } else {
          event.set(key, raw);
        }
      }
    }
    if (value.status != Status::complete) return value;
    i = skip_space(text, value.end);
    if (i >= text.size()) return {Status::need_more, text.size()};
    if (text[i] == '}') return {Status::complete, i + 1};
    if (text[i] != ',') return {Status::broken, i};
    i = skip_space(text, i + 1);
  }
}

Outcome ExactReader::read(std::string_view text, std::size_t at, RawEvent& event, StringFaults& faults) {
  event.clear();
  return read_members(text, at, event, faults, false);
}

std::size_t ExactReader::find_event(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find('{', from); at != std::string_view::npos; at = text.find('{', at + 1)) {
    if (starts_event(text, at)) return at;
  }
  return std::string_view::npos;
}

std::size_t ExactReader::last_boundary(std::string_view text) {
  for (std::size_t at = text.rfind('{'); at != std::string_view::npos && at > 0; at = text.rfind('{', at - 1)) {
    if (!starts_event(text, at)) continue;
    std::size_t i = at;
    while (i > 0 && is_space(text[i - 1])) --i;
    if (i == 0 || text[i - 1] != ',') continue;
    const std::size_t behind_comma = i;
    --i;
    while (i > 0 && is_space(text[i - 1])) --i;
    if (i > 0 && text[i - 1] == '}') return behind_comma;
  }
  return 0;
}

}  // namespace accel::kineto_json
