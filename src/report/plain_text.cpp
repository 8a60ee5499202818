#include "report/plain_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

namespace accel::report {
namespace {

constexpr std::uint32_t kReplacement = 0xFFFD;
constexpr std::string_view kReplacementBytes = "\xEF\xBF\xBD";

struct Decoded {
  std::uint32_t code = kReplacement;
  std::size_t size = 1;  // bytes taken
  bool ok = false;
};

// The first code point of a non-empty text. A bad sequence takes its longest prefix that could have begun a good one.
Decoded decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {first, 1, true};
  std::size_t length = 0;
  unsigned low = 0x80;
  unsigned high = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
  } else {
    return {};
  }
  std::uint32_t code = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (i >= text.size() || byte(i) < low || byte(i) > high) return {kReplacement, i, false};
    code = (code << 6) | (byte(i) & 0x3FU);
    low = 0x80;
    high = 0xBF;
  }
  return {code, length, true};
}

template <typename Each>
void for_each_character(std::string_view text, Each&& each) {
  while (!text.empty()) {
    const Decoded character = decode(text);
    each(character.code, character.ok ? text.substr(0, character.size) : kReplacementBytes);
    text.remove_prefix(character.size);
  }
}

bool is_control(std::uint32_t code) { return code < 0x20 || (code >= 0x7F && code < 0xA0); }

// Characters that show nothing or change the direction of what follows.
bool is_deceptive(std::uint32_t code) {
  return code == 0xAD || code == 0x61C || (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF || (code >= 0xFFF9 && code <= 0xFFFB) ||
         (code >= 0xE0000 && code <= 0xE0FFF);
}

bool is_wide(std::uint32_t code) {
  return (code >= 0x1100 && code <= 0x115F) || (code >= 0x2E80 && code <= 0x303E) ||
         (code >= 0x3041 && code <= 0xA4CF) || (code >= 0xAC00 && code <= 0xD7A3) ||
         (code >= 0xF900 && code <= 0xFAFF) || (code >= 0xFE30 && code <= 0xFE6F) ||
         (code >= 0xFF00 && code <= 0xFF60) || (code >= 0xFFE0 && code <= 0xFFE6) ||
         (code >= 0x1F300 && code <= 0x1FAFF) || (code >= 0x20000 && code <= 0x3FFFD);
}

bool is_combining(std::uint32_t code) {
  return (code >= 0x300 && code <= 0x36F) || (code >= 0x1AB0 && code <= 0x1AFF) || (code >= 0x20D0 && code <= 0x20FF) ||
         (code >= 0xFE00 && code <= 0xFE0F) || (code >= 0xFE20 && code <= 0xFE2F);
}

std::size_t width_of(std::uint32_t code) {
  if (is_combining(code)) return 0;
  return is_wide(code) ? 2 : 1;
}

bool is_ascii_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

bool is_unit(std::string_view word) {
  while (!word.empty() && std::string_view(").,;:").find(word.back()) != std::string_view::npos) word.remove_suffix(1);
  constexpr std::array<std::string_view, 11> kUnits = {"%", "ms", "us", "ns", "s", "B", "KB", "MB", "GB", "TB", "GB/s"};
  return std::find(kUnits.begin(), kUnits.end(), word) != kUnits.end();
}

// Where the first word ends: at a blank, but a figure keeps its unit.
std::size_t end_of_word(std::string_view text) {
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos || blank == 0 || text[blank - 1] < '0' || text[blank - 1] > '9')
    return std::min(blank, text.size());
  const std::size_t next = std::min(text.find(' ', blank + 1), text.size());
  return is_unit(text.substr(blank + 1, next - blank - 1)) ? next : blank;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  unsigned char bits = 0;
  for (const char c : text) bits |= static_cast<unsigned char>(c);
  if (bits < 0x80) return std::string(text);  // as nearly every name
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](std::uint32_t, std::string_view bytes) { out += bytes; });
  return out;
}

std::string visible_text(std::string_view text) {
  if (is_ascii_plain(text)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](std::uint32_t code, std::string_view bytes) {
    switch (code) {
      case '\n':
        out += "\\n";
        return;
      case '\r':
        out += "\\r";
        return;
      case '\t':
        out += "\\t";
        return;
      default:
        break;
    }
    if (is_control(code)) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", code);
    } else if (is_deceptive(code)) {
      fmt::format_to(std::back_inserter(out), "\\u{{{:x}}}", code);
    } else {
      out += bytes;
    }
  });
  return out;
}

std::string markdown_text(std::string_view text) {
  // Always markup, wherever they stand. The rest is markup in certain places only, and a report full of backslashes
  // reads badly: those are escaped in those places.
  constexpr std::string_view kMarkup = "\\`*_{}[]#|~@^$";
  const std::string plain = visible_text(text);
  std::string out;
  bool only_digits = true;  // so far: "1." and "1)" begin a list
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const char c = plain[i];
    const bool first = i == 0;
    const bool escaped =
        kMarkup.find(c) != std::string_view::npos || (first && (c == '-' || c == '+' || c == '=')) ||
        (!first && only_digits && (c == '.' || c == ')') && (i + 1 == plain.size() || plain[i + 1] == ' ')) ||
        (c == ':' && plain.compare(i, 2, ":/") == 0) ||  // no bare link
        (c == '.' && i >= 3 && plain.compare(i - 3, 3, "www") == 0);
    only_digits = only_digits && c >= '0' && c <= '9';
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (first && c == ' ') {
      out += "&#32;";
    } else {
      if (escaped) out += '\\';
      out += c;
    }
  }
  return out;
}

std::string markdown_code(std::string_view text) {
  std::string inner = visible_text(text);
  if (inner.empty()) return "";
  std::size_t longest = 0;
  std::size_t run = 0;
  for (const char c : inner) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  if (inner.front() == '`' || inner.back() == '`') inner = " " + inner + " ";
  std::string out = fence;
  for (const char c : inner) {
    if (c == '|') out += '\\';  // tables are cut at bars before code spans are seen
    out += c;
  }
  return out + fence;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for_each_character(text, [&](std::uint32_t code, std::string_view) { width += width_of(code); });
  return width;
}

std::string shortened(std::string_view text, std::size_t columns) {
  constexpr std::string_view kEllipsis = "...";
  if (display_width(text) <= columns) return std::string(text);
  if (columns <= kEllipsis.size()) return std::string(kEllipsis.substr(0, columns));
  const std::size_t keep = columns - kEllipsis.size();
  const std::size_t head_columns = keep - keep / 3;
  std::vector<std::string_view> characters;
  std::vector<std::size_t> widths;
  for_each_character(text, [&](std::uint32_t code, std::string_view bytes) {
    characters.push_back(bytes);
    widths.push_back(width_of(code));
  });
  std::string head;
  std::size_t used = 0;
  for (std::size_t i = 0; i < characters.size() && used + widths[i] <= head_columns; ++i) {
    head += characters[i];
    used += widths[i];
  }
  std::size_t from = characters.size();
  while (from > 0 && used + widths[from - 1] <= keep) used += widths[--from];
  head += kEllipsis;
  for (std::size_t i = from; i < characters.size(); ++i) head += characters[i];
  return head;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  std::string line;
  std::size_t width = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, end_of_word(text));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (word.empty()) continue;
    const std::size_t word_width = display_width(word);
    if (!line.empty() && width + 1 + word_width > columns) {
      lines.push_back(std::move(line));
      line.clear();
      width = 0;
    }
    if (!line.empty()) {
      line += ' ';
      ++width;
    }
    line += word;
    width += word_width;
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

}  // namespace accel::report
