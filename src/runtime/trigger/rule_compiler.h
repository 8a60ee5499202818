// RuleCompiler: recursive descent over the words of a rule, straight into the postfix program. Lives on the stack
// during Rule::compile; stops at the first error, with its column and a remedy.
#pragma once

#include <array>

#include "runtime/trigger/lexer.h"
#include "runtime/trigger/program.h"

namespace accel::runtime {

class RuleCompiler {
 public:
  RuleCompiler(std::string_view text, NumberTable& numbers, RuleError& error)
      : text_(text), lexer_(text), numbers_(numbers), error_(error) {}
  Rule* compile();

 private:
  enum class Type : std::uint8_t { number, truth, failed };
  struct WindowPlan {
    WindowKind kind;
    std::uint32_t size;
    double parameter;
  };
  struct Function;

  // Conditions. Each returns the type of what it left on the stack.
  Type disjunction();
  Type conjunction();
  Type negation();
  Type comparison();
  Type sum();
  Type product();
  Type unary();
  Type primary();
  Type call(const Token& name);
  Type called(const Token& name);
  Type name_question(Op op);
  Type extreme_of(const Token& name, Op op);
  Type round_of();
  Type window_of(const Function& function, const Token& name);
  Type number_name(const Token& name);

  // What follows the condition.
  bool consequence();
  bool action();
  bool capture_arguments();
  bool text_argument(const char* what);
  bool limits();
  bool limit(const Token& name);

  void advance() { token_ = lexer_.next(); }
  bool accept(std::string_view symbol);
  bool expect(std::string_view symbol, const char* where);
  bool whole_number(const char* what, std::uint32_t lowest, std::uint32_t highest, std::uint32_t& out);
  bool constant(const char* what, double& out);
  bool emit(Op op, std::uint16_t operand, double constant, int stack_change, std::uint32_t column);
  Type fail(std::uint32_t column, const char* message, const char* remedy);
  Type fail_named(std::uint32_t column, const char* format, std::string_view name, const char* remedy);
  Type unexpected(const char* wanted);
  Type need(Type got, Type wanted, std::uint32_t column, std::string_view around);
  Rule* build();

  std::string_view text_;
  Lexer lexer_;
  NumberTable& numbers_;
  RuleError& error_;
  Token token_;
  RuleAction action_;
  RuleLimits limits_;
  std::uint32_t depth_ = 0;
  std::uint32_t sources_ = 0;
  int stack_ = 0;
  std::uint32_t instruction_count_ = 0;
  std::uint32_t window_count_ = 0;
  std::size_t window_doubles_ = 0;
  std::array<Instruction, Rule::kMaxInstructions> instructions_;
  std::array<WindowPlan, Rule::kMaxWindows> windows_;
};

}  // namespace accel::runtime
