// What one call of an op has to do: floating point operations, and the bytes that must move at least (every input read
// once, every output written once), from the recorded shapes and types. Unknown is absent, never 0. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "analysis/efficiency/op_inputs.h"

namespace accel {

enum class WorkKind : std::uint8_t {
  none,
  matmul,
  convolution,
  attention,
  normalisation,
  softmax,
  reduction,
  elementwise,
  copy
};
std::string_view to_string(WorkKind kind);

struct OpWork {
  WorkKind kind = WorkKind::none;
  TensorType type = TensorType::unknown;  // that the arithmetic is stated in: of the first tensor
  std::optional<double> flops;
  std::optional<double> bytes;
  // An op that only calls others with formulas of their own (linear, matmul, conv2d): counted for itself, never added.
  bool composite = false;
  // For matrix products: rows, columns, inner size and batch; 0 where it is none.
  double m = 0, n = 0, k = 0, batch = 0;

  bool is_matrix() const {
    return kind == WorkKind::matmul || kind == WorkKind::convolution || kind == WorkKind::attention;
  }
};

// Multiply and add count as two. Causal attention counts the half that is needed.
OpWork work_of(std::string_view op_name, const OpInputs& inputs);

// Parts of work_of, each in a source of its own; kind none when the op is not of that family.
OpWork matmul_work(std::string_view op_name, const OpInputs& inputs);
OpWork convolution_work(std::string_view op_name, const OpInputs& inputs);
OpWork attention_work(std::string_view op_name, const OpInputs& inputs);
OpWork streaming_work(std::string_view op_name, const OpInputs& inputs);

}  // namespace accel
