// Rule files: one rule a line, # starts a comment, a line that ends with a backslash goes on in the next one. Pure
// function over a text in memory; one thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace accel::runtime {

// Hands out one rule after the other. A rule's text is built in `buffer` when it spans lines.
class RuleFile {
 public:
  static constexpr std::size_t kMaxRuleBytes = 1024;
  explicit RuleFile(std::string_view text) : text_(text) {}

  // False at the end. `line` is where the rule starts, from 1. A rule longer than the buffer is cut, which the compiler
  // then refuses as too long.
  bool next(std::string_view& rule, std::uint32_t& line);

 private:
  std::string_view take_line();

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 0;
  char buffer_[kMaxRuleBytes];
};

}  // namespace accel::runtime
