#include "runtime/trigger/rule_file.h"

#include <cstring>

namespace accel::runtime {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string_view RuleFile::take_line() {
  const std::size_t from = at_;
  while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  const std::string_view line(text_.data() + from, at_ - from);  // substr may throw, which needs the C++ runtime
  if (at_ < text_.size()) ++at_;
  ++line_;
  return line;
}

bool RuleFile::next(std::string_view& rule, std::uint32_t& line) {
  while (at_ < text_.size()) {
    std::string_view part = trimmed(take_line());
    if (part.empty() || part.front() == '#') continue;
    line = line_;
    std::size_t used = 0;
    for (;;) {
      const bool goes_on = !part.empty() && part.back() == '\\';
      if (goes_on) part.remove_suffix(1);
      const std::size_t room = sizeof buffer_ - used;
      const std::size_t taken = part.size() < room ? part.size() : room;
      std::memcpy(buffer_ + used, part.data(), taken);
      used += taken;
      if (!goes_on || at_ >= text_.size()) break;
      if (used < sizeof buffer_) buffer_[used++] = ' ';
      part = trimmed(take_line());
    }
    rule = std::string_view(buffer_, used);
    return true;
  }
  return false;
}

}  // namespace accel::runtime
