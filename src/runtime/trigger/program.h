// The compiled form of a rule's condition: a postfix program over a small stack. Private to the trigger folder.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/trigger/rule.h"
#include "runtime/trigger/window.h"

namespace accel::runtime {

enum class Op : std::uint8_t {
  constant,
  number,  // operand: slot
  known,   // operand: slot
  is_nan,  // operand: slot
  count,   // operand: slot
  window,  // operand: window
  add,
  subtract,
  multiply,
  divide,
  modulo,
  negate,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  logic_and,
  logic_or,
  logic_not,
  absolute,
  minimum,  // operand: how many
  maximum,  // operand: how many
  round,    // operand: digits
};

struct Instruction {
  Op op = Op::constant;
  std::uint16_t operand = 0;
  std::uint32_t seen = 0;  // number: how many values had come at the last evaluation
  double constant = 0;
};

struct Rule::Code {
  Instruction* instructions = nullptr;
  Window* windows = nullptr;
  char* text = nullptr;
  std::uint32_t instruction_count = 0;
  std::uint32_t window_count = 0;
  std::uint32_t text_bytes = 0;
};

}  // namespace accel::runtime
