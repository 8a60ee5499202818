#include "ingest/json_members.h"

namespace accel {
namespace {

constexpr std::string_view kBlank = " \t\r\n";

std::size_t skip_blank(std::string_view text, std::size_t at) {
  const std::size_t next = text.find_first_not_of(kBlank, at);
  return next == std::string_view::npos ? text.size() : next;
}

// Behind the closing quote of the string that starts at `at`.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  ++at;
  while (at < text.size()) {
    at = text.find_first_of("\"\\", at);
    if (at == std::string_view::npos) return at;
    if (text[at] == '"') return at + 1;
    at += 2;
  }
  return std::string_view::npos;
}

}  // namespace

std::size_t end_of_json_value(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = end_of_string(text, at);
      if (at == std::string_view::npos || depth == 0) return at;
    } else if (c == '{' || c == '[') {
      ++depth;
      ++at;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return at;
      ++at;
      if (--depth == 0) return at;
    } else if (depth == 0) {
      // A number or a word.
      const std::size_t end = text.find_first_of(",]} \t\r\n", at);
      return end == at ? at + 1 : end;
    } else {
      at = text.find_first_of("\"{}[]", at);
    }
  }
  return std::string_view::npos;
}

bool each_member(std::string_view text, const std::function<void(std::string_view, std::string_view)>& visit) {
  std::size_t at = skip_blank(text, 0);
  if (at >= text.size() || text[at] != '{') return false;
  ++at;
  for (;;) {
    at = skip_blank(text, at);
    if (at < text.size() && text[at] == ',') at = skip_blank(text, at + 1);
    if (at < text.size() && text[at] == '}') return true;
    if (at >= text.size() || text[at] != '"') return false;
    const std::size_t key_end = end_of_string(text, at);
    if (key_end == std::string_view::npos) return false;
    const std::string_view key = text.substr(at + 1, key_end - at - 2);
    at = skip_blank(text, key_end);
    if (at >= text.size() || text[at] != ':') return false;
    at = skip_blank(text, at + 1);
    const std::size_t end = end_of_json_value(text, at);
    if (end == std::string_view::npos) {
      if (at < text.size()) visit(key, text.substr(at));
      return false;
    }
    visit(key, text.substr(at, end - at));
    at = end;
  }
}

bool each_element(std::string_view text, const std::function<void(std::string_view)>& visit) {
  std::size_t at = skip_blank(text, 0);
  if (at >= text.size() || text[at] != '[') return false;
  ++at;
  for (;;) {
    at = skip_blank(text, at);
    if (at < text.size() && text[at] == ',') at = skip_blank(text, at + 1);
    if (at >= text.size()) return false;
    if (text[at] == ']') return true;
    const std::size_t end = end_of_json_value(text, at);
    if (end == std::string_view::npos) return false;
    visit(text.substr(at, end - at));
    at = end;
  }
}

}  // namespace accel
