// Ops that pass over their tensors: element-wise, copies, reductions, softmax, normalisation. What bounds them is
// nearly always memory; their operations are counted per element.
#include <algorithm>
#include <array>

#include "analysis/efficiency/op_work.h"

namespace accel {
namespace {

// Passes over the largest input that no implementation can avoid, as reads and writes, and operations per element.
struct Pass {
  std::string_view op;  // without namespace and the underscore of in-place ops
  WorkKind kind;
  double inputs_read;  // times all tensor inputs are read
  double outputs;      // tensors of the largest input's size written
  double flops;        // per element of the largest input
};

constexpr auto kNorm = WorkKind::normalisation;
constexpr auto kSoft = WorkKind::softmax;
constexpr auto kSum = WorkKind::reduction;

// Batch normalisation needs its statistics before it can normalise: two readings.
constexpr Pass kPasses[] = {
    {"native_layer_norm", kNorm, 1, 1, 7},
    {"layer_norm_backward", kNorm, 1, 1, 12},
    {"native_layer_norm_backward", kNorm, 1, 1, 12},
    {"_fused_rms_norm", kNorm, 1, 1, 4},
    {"_fused_rms_norm_backward", kNorm, 1, 1, 9},
    {"native_group_norm", kNorm, 2, 1, 7},
    {"native_group_norm_backward", kNorm, 2, 1, 12},
    {"native_batch_norm", kNorm, 2, 1, 7},
    {"cudnn_batch_norm", kNorm, 2, 1, 7},
    {"miopen_batch_norm", kNorm, 2, 1, 7},
    {"native_batch_norm_backward", kNorm, 2, 1, 12},
    {"cudnn_batch_norm_backward", kNorm, 2, 1, 12},
    {"miopen_batch_norm_backward", kNorm, 2, 1, 12},
    {"_softmax", kSoft, 1, 1, 5},
    {"_log_softmax", kSoft, 1, 1, 5},
    {"_softmax_backward_data", kSoft, 1, 1, 4},
    {"_log_softmax_backward_data", kSoft, 1, 1, 4},
    {"sum", kSum, 1, 0, 1},
    {"mean", kSum, 1, 0, 1},
    {"amax", kSum, 1, 0, 1},
    {"amin", kSum, 1, 0, 1},
    {"max", kSum, 1, 0, 1},
    {"min", kSum, 1, 0, 1},
    {"argmax", kSum, 1, 0, 1},
    {"argmin", kSum, 1, 0, 1},
    {"any", kSum, 1, 0, 1},
    {"all", kSum, 1, 0, 1},
    {"var", kSum, 1, 0, 3},
    {"var_mean", kSum, 1, 0, 3},
    {"std", kSum, 1, 0, 3},
    {"norm", kSum, 1, 0, 2},
    {"linalg_vector_norm", kSum, 1, 0, 2},
    {"logsumexp", kSum, 1, 0, 3},
};

// Element-wise: every input read, one output of the broadcast shape written.
constexpr std::array<std::string_view, 84> kElementwise = {"add",
                                                           "sub",
                                                           "rsub",
                                                           "mul",
                                                           "div",
                                                           "neg",
                                                           "abs",
                                                           "sqrt",
                                                           "rsqrt",
                                                           "exp",
                                                           "exp2",
                                                           "expm1",
                                                           "log",
                                                           "log2",
                                                           "log1p",
                                                           "log10",
                                                           "pow",
                                                           "square",
                                                           "sin",
                                                           "cos",
                                                           "tan",
                                                           "tanh",
                                                           "sigmoid",
                                                           "relu",
                                                           "relu6",
                                                           "gelu",
                                                           "silu",
                                                           "mish",
                                                           "elu",
                                                           "leaky_relu",
                                                           "hardtanh",
                                                           "hardswish",
                                                           "hardsigmoid",
                                                           "softplus",
                                                           "clamp",
                                                           "clamp_min",
                                                           "clamp_max",
                                                           "reciprocal",
                                                           "erf",
                                                           "floor",
                                                           "ceil",
                                                           "round",
                                                           "trunc",
                                                           "sign",
                                                           "fmod",
                                                           "remainder",
                                                           "addcmul",
                                                           "addcdiv",
                                                           "lerp",
                                                           "where",
                                                           "masked_fill",
                                                           "threshold",
                                                           "native_dropout",
                                                           "native_dropout_backward",
                                                           "maximum",
                                                           "minimum",
                                                           "gelu_backward",
                                                           "silu_backward",
                                                           "sigmoid_backward",
                                                           "tanh_backward",
                                                           "threshold_backward",
                                                           "elu_backward",
                                                           "leaky_relu_backward",
                                                           "hardtanh_backward",
                                                           "hardswish_backward",
                                                           "softplus_backward",
                                                           "mse_loss",
                                                           "mse_loss_backward",
                                                           "smooth_l1_loss",
                                                           "binary_cross_entropy_with_logits",
                                                           "nan_to_num",
                                                           "atan2",
                                                           "hypot",
                                                           "bitwise_not",
                                                           "bitwise_and",
                                                           "bitwise_or",
                                                           "logical_not",
                                                           "logical_and",
                                                           "logical_or",
                                                           "masked_scale",
                                                           "glu",
                                                           "logit",
                                                           "softshrink",
                                                           "hardshrink"};
constexpr std::array<std::string_view, 12> kComparisons = {
    "eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite", "logical_xor", "isclose", "signbit"};
constexpr std::array<std::string_view, 5> kCopies = {"copy", "clone", "contiguous", "roll", "flip"};
constexpr std::array<std::string_view, 8> kFills = {"fill",      "zero",   "normal", "uniform",
                                                    "bernoulli", "random", "ones",   "zeros"};

template <std::size_t N>
bool among(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

double bytes_of_input(const OpInput& input) { return elements(input.shape) * bytes_of(input.type); }

struct Totals {
  double bytes = 0;             // of all tensor inputs
  double largest_elements = 0;  // of one tensor input, or of their broadcast shape
  int largest_type_bytes = 0;
  const OpInput* first = nullptr;
  bool lists = false;  // tensor lists carry no types
};

// Broadcasting can make the output larger than every input.
Shape broadcast(const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t left = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t right = i < b.size() ? b[b.size() - 1 - i] : 1;
    shape[shape.size() - 1 - i] = left == 1 ? right : left;
  }
  return shape;
}

Totals total(const OpInputs& inputs) {
  Totals totals;
  Shape shape;
  for (const OpInput& input : inputs.inputs) {
    if (!input.list.empty() || input.recorded_type == "TensorList") totals.lists = true;
    if (!input.is_tensor()) continue;
    if (totals.first == nullptr) totals.first = &input;
    shape = broadcast(shape, input.shape);
    totals.bytes += bytes_of_input(input);
    totals.largest_elements = std::max(totals.largest_elements, elements(input.shape));
    if (is_floating(input.type)) totals.largest_type_bytes = std::max(totals.largest_type_bytes, bytes_of(input.type));
  }
  if (totals.first != nullptr && totals.largest_type_bytes == 0)
    totals.largest_type_bytes = bytes_of(totals.first->type);
  totals.largest_elements = std::max(totals.largest_elements, elements(shape));
  return totals;
}

OpWork streaming(WorkKind kind, const Totals& totals) {
  OpWork work;
  work.kind = kind;
  if (totals.first != nullptr) work.type = totals.first->type;
  return work;
}

OpWork elementwise(const OpInputs& inputs, bool in_place, int output_bytes) {
  const Totals totals = total(inputs);
  if (totals.first == nullptr || totals.lists) return {};
  OpWork work = streaming(WorkKind::elementwise, totals);
  work.flops = totals.largest_elements;
  const int written = output_bytes > 0 ? output_bytes
                      : in_place       ? bytes_of(totals.first->type)
                                       : totals.largest_type_bytes;
  work.bytes = totals.bytes + totals.largest_elements * written;
  return work;
}

OpWork copy(std::string_view base, const OpInputs& inputs) {
  const OpInput* first = inputs.tensor(0);
  if (first == nullptr) return {};
  OpWork work;
  work.kind = WorkKind::copy;
  work.type = first->type;
  work.flops = 0;
  const OpInput* source = base == "copy" ? inputs.tensor(1) : first;
  work.bytes = bytes_of_input(*first) + bytes_of_input(source != nullptr ? *source : *first);
  return work;
}

OpWork fill(const OpInputs& inputs) {
  const OpInput* first = inputs.tensor(0);
  if (first == nullptr) return {};
  OpWork work;
  work.kind = WorkKind::elementwise;
  work.type = first->type;
  work.flops = 0;
  work.bytes = bytes_of_input(*first);
  return work;
}

OpWork pass(const Pass& pass, const OpInputs& inputs) {
  const Totals totals = total(inputs);
  if (totals.first == nullptr || totals.lists) return {};
  OpWork work = streaming(pass.kind, totals);
  work.flops = pass.flops * totals.largest_elements;
  work.bytes = pass.inputs_read * totals.bytes + pass.outputs * totals.largest_elements * bytes_of(totals.first->type);
  return work;
}

OpWork lookup(const OpInputs& inputs) {
  const OpInput* table = inputs.tensor(0);
  const OpInput* index = inputs.tensor(1);
  if (table == nullptr || index == nullptr || table->shape.size() != 2) return {};
  OpWork work;
  work.kind = WorkKind::copy;
  work.type = table->type;
  work.flops = 0;
  work.bytes = bytes_of_input(*index) + 2 * elements(index->shape) *
                                            static_cast<double>(std::max<std::int64_t>(0, table->shape[1])) *
                                            bytes_of(table->type);
  return work;
}

// A generated kernel is called with every buffer that it reads or writes.
OpWork generated(std::string_view op_name, const OpInputs& inputs) {
  const Totals totals = total(inputs);
  if (totals.first == nullptr || totals.lists) return {};
  OpWork work = streaming(op_name.starts_with("triton_poi") ? WorkKind::elementwise : WorkKind::reduction, totals);
  work.bytes = totals.bytes;
  return work;
}

}  // namespace

OpWork streaming_work(std::string_view op_name, const OpInputs& inputs) {
  if (op_name.starts_with("triton_poi_") || op_name.starts_with("triton_per_") || op_name.starts_with("triton_red_"))
    return generated(op_name, inputs);
  if (!op_name.starts_with("aten::")) return {};
  std::string_view base = op_name.substr(6);
  const bool in_place = base.ends_with('_');
  if (in_place) base.remove_suffix(1);
  for (const Pass& known : kPasses) {
    if (known.op == base) return pass(known, inputs);
  }
  if (among(kElementwise, base)) return elementwise(inputs, in_place, 0);
  if (among(kComparisons, base)) return elementwise(inputs, in_place, in_place ? 0 : 1);
  if (among(kCopies, base)) return copy(base, inputs);
  if (among(kFills, base)) return fill(inputs);
  if (base == "embedding") return lookup(inputs);
  return {};
}

}  // namespace accel
