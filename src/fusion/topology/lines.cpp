#include "fusion/topology/lines.h"

#include <algorithm>
#include <charconv>

namespace accel::fusion {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Length of "[" digits and semicolons "m" at the start of `text`, 0 if it is something else.
std::size_t colour_code(std::string_view text) {
  if (!text.starts_with('[')) return 0;
  std::size_t at = 1;
  while (at < text.size() && at < 16 && (is_digit(text[at]) || text[at] == ';')) ++at;
  return at < text.size() && text[at] == 'm' ? at + 1 : 0;
}

// Length of the control sequence after an escape byte.
std::size_t escape_sequence(std::string_view text) {
  if (!text.starts_with('[')) return 0;
  std::size_t at = 1;
  while (at < text.size() && at < 32 && text[at] >= 0x20 && text[at] <= 0x3F) ++at;
  return at < text.size() && text[at] >= 0x40 && text[at] <= 0x7E ? at + 1 : 1;
}

std::string without_codes(std::string_view line) {
  std::string plain;
  plain.reserve(line.size());
  for (std::size_t at = 0; at < line.size();) {
    const char c = line[at];
    if (c == '\x1b') {
      at += 1 + escape_sequence(line.substr(at + 1));
    } else if (const std::size_t code = colour_code(line.substr(at)); code > 0) {
      at += code;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '\t' || byte >= 0x20) plain += c;
      ++at;
    }
  }
  return plain;
}

}  // namespace

std::vector<std::string> plain_lines(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(without_codes(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(" \t"); at != std::string_view::npos;
       at = line.find_first_not_of(" \t", at)) {
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

std::vector<std::string_view> cells_of(std::string_view line, char separator) {
  std::vector<std::string_view> cells;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(separator, at), line.size());
    cells.push_back(trimmed(line.substr(at, end - at)));
    at = end + 1;
  }
  return cells;
}

std::optional<std::int64_t> number_of(std::string_view text) {
  if (text.empty() || text.size() > 9 || !std::all_of(text.begin(), text.end(), is_digit)) return std::nullopt;
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string quoted(std::string_view word) {
  std::string text = "\"";
  for (const char c : word.substr(0, 24)) text += c > 0x20 && c < 0x7F && c != '"' ? c : '?';
  return text + "\"";
}

}  // namespace accel::fusion
