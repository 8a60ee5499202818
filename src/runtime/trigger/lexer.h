// The words of the trigger language. Lexer hands out one token after the other from a text that the caller keeps;
// nothing is copied and nothing allocated. One thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace accel::runtime {

enum class TokenKind : std::uint8_t {
  end,
  number,
  name,    // and, or, not, true, false are names with a meaning for the parser
  string,  // text without the quotes
  symbol,  // ( ) , + - * / % < <= > >= == != => @ =
  bad,     // a character or number that the language does not have
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  double number = 0;
  std::uint32_t column = 1;  // from 1, in bytes
  bool is(std::string_view expected) const {
    return (kind == TokenKind::symbol || kind == TokenKind::name) && text == expected;
  }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  Token next();

 private:
  Token make(TokenKind kind, std::size_t from) const;
  Token number();
  Token string();

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace accel::runtime
