// Convolutions of any number of dimensions, forward and backward.
#include <algorithm>

#include "analysis/efficiency/op_work.h"

namespace accel {
namespace {

// Which concrete input holds what; -1: the op has none.
struct Layout {
  std::string_view op;
  int padding, stride, dilation, transposed, output_padding, groups;
  bool composite;
};

constexpr Layout kLayouts[] = {
    {"aten::conv1d", 4, 3, 5, -1, -1, 6, true},
    {"aten::conv2d", 4, 3, 5, -1, -1, 6, true},
    {"aten::conv3d", 4, 3, 5, -1, -1, 6, true},
    {"aten::convolution", 4, 3, 5, 6, 7, 8, true},
    {"aten::_convolution", 4, 3, 5, 6, 7, 8, true},
    {"aten::cudnn_convolution", 2, 3, 4, -1, -1, 5, false},
    {"aten::miopen_convolution", 3, 4, 5, -1, -1, 6, false},
    {"aten::miopen_depthwise_convolution", 3, 4, 5, -1, -1, 6, false},
    {"aten::cudnn_convolution_relu", 4, 3, 5, -1, -1, 6, false},
    {"aten::cudnn_convolution_transpose", 2, 4, 5, 0, -1, 6, false},
    {"aten::_conv_depthwise2d", 5, 4, 6, -1, -1, -1, false},
    {"aten::mkldnn_convolution", 3, 4, 5, -1, -1, 6, false},
};

double tensor_bytes(const OpInput& input) { return elements(input.shape) * bytes_of(input.type); }

// PyTorch writes one number for all dimensions where they are alike.
std::int64_t of_dimension(const std::vector<std::int64_t>& values, std::size_t dimension, std::int64_t otherwise) {
  if (values.empty()) return otherwise;
  return dimension < values.size() ? values[dimension] : values.back();
}

OpWork forward(const Layout& layout, const OpInputs& inputs) {
  const OpInput* input = inputs.tensor(0);
  const OpInput* weight = inputs.tensor(1);
  if (input == nullptr || weight == nullptr) return {};
  OpWork work;
  work.kind = WorkKind::convolution;
  work.type = input->type;
  work.composite = layout.composite;
  const std::size_t rank = weight->shape.size();
  if (rank < 3 || input->shape.size() != rank || !inputs.has_concrete) return work;  // the sizes are not all recorded
  const bool transposed =
      layout.op == "aten::cudnn_convolution_transpose" ||
      (layout.transposed >= 0 && inputs.concrete(static_cast<std::size_t>(layout.transposed)) == "True");
  const double kernel = elements(weight->shape) / std::max<double>(1, static_cast<double>(weight->shape[0]));
  if (transposed) {
    // Every input element meets the whole filter of its channel.
    work.flops = 2 * elements(input->shape) * kernel;
    return work;
  }
  const auto strides = inputs.integers(static_cast<std::size_t>(layout.stride));
  const auto padding = inputs.integers(static_cast<std::size_t>(layout.padding));
  const auto dilation = inputs.integers(static_cast<std::size_t>(layout.dilation));
  if (strides.empty() || padding.empty()) return work;  // padding="same" and the like
  double output = static_cast<double>(input->shape[0]) * static_cast<double>(weight->shape[0]);
  for (std::size_t i = 2; i < rank; ++i) {
    const std::int64_t stride = std::max<std::int64_t>(1, of_dimension(strides, i - 2, 1));
    const double reach =
        static_cast<double>(of_dimension(dilation, i - 2, 1)) * static_cast<double>(weight->shape[i] - 1) + 1;
    const double room =
        static_cast<double>(input->shape[i]) + 2.0 * static_cast<double>(of_dimension(padding, i - 2, 0)) - reach;
    output *= room < 0 ? 0 : static_cast<double>(static_cast<std::int64_t>(room / static_cast<double>(stride))) + 1;
  }
  work.flops = 2 * output * kernel;
  work.bytes = tensor_bytes(*input) + tensor_bytes(*weight) + output * bytes_of(work.type);
  return work;
}

// convolution_backward(grad_output, input, weight, ..., output_mask): a convolution for each gradient asked for.
OpWork backward(const OpInputs& inputs) {
  const OpInput* gradient = inputs.tensor(0);
  const OpInput* input = inputs.tensor(1);
  const OpInput* weight = inputs.tensor(2);
  if (gradient == nullptr || input == nullptr || weight == nullptr || weight->shape.empty()) return {};
  OpWork work;
  work.kind = WorkKind::convolution;
  work.type = gradient->type;
  const bool transposed = inputs.concrete(7) == "True";
  const double kernel = elements(weight->shape) / std::max<double>(1, static_cast<double>(weight->shape[0]));
  const double one = 2 * elements(transposed ? input->shape : gradient->shape) * kernel;
  const std::string_view mask = inputs.concrete(10);
  const bool of_input = !mask.starts_with("[False");
  const bool of_weight = mask.find(", False,") == std::string_view::npos || mask.empty();
  work.flops = one * (of_input ? 1 : 0) + one * (of_weight ? 1 : 0);
  const double all = tensor_bytes(*gradient) + tensor_bytes(*input) + tensor_bytes(*weight);
  work.bytes = all * (of_input ? 1 : 0) + all * (of_weight ? 1 : 0);
  return work;
}

}  // namespace

OpWork convolution_work(std::string_view op_name, const OpInputs& inputs) {
  if (op_name == "aten::convolution_backward") return backward(inputs);
  for (const Layout& layout : kLayouts) {
    if (op_name == layout.op) return forward(layout, inputs);
  }
  return {};
}

}  // namespace accel
