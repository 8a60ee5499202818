// Fused attention of every implementation, forward and backward.
#include <algorithm>

#include "analysis/efficiency/op_work.h"

namespace accel {
namespace {

struct Layout {
  std::string_view op;
  bool heads_first;    // [batch, heads, length, width], else [batch, length, heads, width]
  bool backward;       // the gradient comes before query, key and value
  std::size_t causal;  // input that says whether the upper triangle is left out
  bool composite;
};

constexpr Layout kLayouts[] = {
    {"aten::scaled_dot_product_attention", true, false, 5, true},
    {"aten::_scaled_dot_product_flash_attention", true, false, 4, true},
    {"aten::_scaled_dot_product_flash_attention_backward", true, true, 11, true},
    {"aten::_flash_attention_forward", false, false, 8, false},
    {"aten::_flash_attention_backward", false, true, 11, false},
    {"aten::_scaled_dot_product_efficient_attention", true, false, 6, true},
    {"aten::_scaled_dot_product_efficient_attention_backward", true, true, 11, true},
    {"aten::_efficient_attention_forward", false, false, 9, false},
    {"aten::_efficient_attention_backward", false, true, 14, false},
    {"aten::_scaled_dot_product_cudnn_attention", true, false, 6, true},
    {"aten::_scaled_dot_product_cudnn_attention_backward", true, true, 14, true},
    {"aten::_cudnn_attention_forward", true, false, 10, false},
    {"aten::_cudnn_attention_backward", true, true, 14, false},
    {"aten::_scaled_dot_product_fused_attention_overrideable", true, false, 5, false},
    {"flash_attn::_flash_attn_forward", false, false, 5, false},
    {"flash_attn::_flash_attn_backward", false, true, 10, false},
};

// 1 and 2 are the masks of the memory-efficient kernel that cut from the top left and the bottom right.
bool says_causal(std::string_view concrete) { return concrete == "True" || concrete == "1" || concrete == "2"; }

}  // namespace

OpWork attention_work(std::string_view op_name, const OpInputs& inputs) {
  const auto* layout = std::find_if(std::begin(kLayouts), std::end(kLayouts),
                                    [&](const Layout& candidate) { return candidate.op == op_name; });
  if (layout == std::end(kLayouts)) return {};
  const std::size_t first = layout->backward ? 1 : 0;
  const OpInput* query = inputs.tensor(first);
  const OpInput* key = inputs.tensor(first + 1);
  const OpInput* value = inputs.tensor(first + 2);
  if (query == nullptr || key == nullptr || value == nullptr) return {};
  OpWork work;
  work.kind = WorkKind::attention;
  work.type = query->type;
  work.composite = layout->composite;
  // Sequences of different lengths packed into one have three dimensions, and their lengths are not recorded.
  if (query->shape.size() != 4 || key->shape.size() != 4 || value->shape.size() != 4) return work;
  const std::size_t heads = layout->heads_first ? 1 : 2;
  const std::size_t length = layout->heads_first ? 2 : 1;
  const auto size = [](const OpInput* input, std::size_t i) { return static_cast<double>(input->shape[i]); };
  double scores = size(query, 0) * size(query, heads) * size(query, length) * size(key, length);
  if (says_causal(inputs.concrete(layout->causal)) && query->shape[length] == key->shape[length]) scores /= 2;
  const double width = size(query, 3), value_width = size(value, 3);
  // Forward: scores and their product with the values. Backward: the scores again, and four gradients.
  work.flops = layout->backward ? 2 * scores * (3 * width + 2 * value_width) : 2 * scores * (width + value_width);
  const auto bytes = [](const OpInput* input) { return elements(input->shape) * bytes_of(input->type); };
  const double all = bytes(query) + bytes(key) + bytes(value) + bytes(query);
  work.bytes = layout->backward ? 2 * all : all;
  return work;
}

}  // namespace accel
