// The recorded arguments of one op call as values: shapes, element types, strides and concrete scalars, from the JSON
// texts of op_args. Recorded texts are input like any other: what does not parse is "unknown", and sizes are bounded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/efficiency/tensor_type.h"
#include "trace/trace_store.h"

namespace accel {

using Shape = std::vector<std::int64_t>;

struct OpInput {
  Shape shape;
  Shape strides;            // empty where not recorded
  std::vector<Shape> list;  // shapes of a tensor list
  TensorType type = TensorType::unknown;
  std::string_view recorded_type;
  std::string_view concrete;  // "[2, 2]", "True", "1"; empty where not recorded

  bool is_tensor() const { return type != TensorType::unknown; }
};

struct OpInputs {
  std::vector<OpInput> inputs;
  bool has_concrete = false;

  const OpInput* at(std::size_t index) const { return index < inputs.size() ? &inputs[index] : nullptr; }
  const OpInput* tensor(std::size_t index) const;  // null unless that input is a tensor
  std::string_view concrete(std::size_t index) const;
  std::optional<std::int64_t> integer(std::size_t index) const;
  std::vector<std::int64_t> integers(std::size_t index) const;  // of "[2, 2]"; empty when not recorded
};

// Views stay valid as long as the store.
OpInputs read_inputs(const TraceStore& store, ArgsId args);

// Number of elements; a double, since hostile shapes overflow everything else. A scalar tensor ([]) has one.
double elements(const Shape& shape);

}  // namespace accel
