#include "analysis/efficiency/op_work.h"

#include <array>

namespace accel {

std::string_view to_string(WorkKind kind) {
  constexpr std::array<std::string_view, 9> kNames = {
      "other", "matmul", "convolution", "attention", "normalisation", "softmax", "reduction", "elementwise", "copy"};
  return kNames[static_cast<std::size_t>(kind)];
}

OpWork work_of(std::string_view op_name, const OpInputs& inputs) {
  if (inputs.inputs.empty()) return {};
  for (const auto family : {matmul_work, convolution_work, attention_work, streaming_work}) {
    const OpWork work = family(op_name, inputs);
    if (work.kind != WorkKind::none) return work;
  }
  return {};
}

}  // namespace accel
