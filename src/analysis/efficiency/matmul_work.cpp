// Matrix products: mm, addmm, bmm, baddbmm, linear, matmul and their relatives.
#include <algorithm>

#include "analysis/efficiency/op_work.h"

namespace accel {
namespace {

struct Product {
  const OpInput* left = nullptr;
  const OpInput* right = nullptr;
  const OpInput* added = nullptr;
};

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

OpWork finish(const Product& product, double batch, double m, double k, double n) {
  OpWork work;
  work.kind = WorkKind::matmul;
  work.type = product.left->type;
  work.batch = batch;
  work.m = m;
  work.k = k;
  work.n = n;
  work.flops = 2 * batch * m * k * n;
  const double in = elements(product.left->shape) * bytes_of(product.left->type) +
                    elements(product.right->shape) * bytes_of(product.right->type);
  const double added = product.added != nullptr ? elements(product.added->shape) * bytes_of(product.added->type) : 0;
  // Eight-bit products are written in 16 bits.
  work.bytes = in + added + batch * m * n * std::max(bytes_of(work.type), 2);
  return work;
}

OpWork of_matrices(const Product& product) {
  const Shape& left = product.left->shape;
  const Shape& right = product.right->shape;
  if (left.size() != 2 || right.size() != 2 || left[1] != right[0]) return {};
  return finish(product, 1, static_cast<double>(left[0]), static_cast<double>(left[1]), static_cast<double>(right[1]));
}

OpWork of_batches(const Product& product) {
  const Shape& left = product.left->shape;
  const Shape& right = product.right->shape;
  if (left.size() != 3 || right.size() != 3 || left[2] != right[1]) return {};
  return finish(product, static_cast<double>(left[0]), static_cast<double>(left[1]), static_cast<double>(left[2]),
                static_cast<double>(right[2]));
}

OpWork of_linear(const Product& product) {
  const Shape& left = product.left->shape;
  const Shape& weight = product.right->shape;
  if (left.empty() || weight.size() != 2 || left.back() != weight[1] || weight[1] <= 0) return {};
  const double k = static_cast<double>(weight[1]);
  OpWork work = finish(product, 1, elements(left) / k, k, static_cast<double>(weight[0]));
  work.composite = true;
  return work;
}

// Leading dimensions broadcast; vectors stand for one row or column.
OpWork of_matmul(const Product& product) {
  Shape left = product.left->shape;
  Shape right = product.right->shape;
  if (left.empty() || right.empty()) return {};
  if (left.size() == 1) left.insert(left.begin(), 1);
  if (right.size() == 1) right.push_back(1);
  const std::int64_t k = left.back();
  if (right[right.size() - 2] != k) return {};
  double batch = 1;
  const std::size_t leading = std::max(left.size(), right.size()) - 2;
  for (std::size_t i = 0; i < leading; ++i) {
    // Counted from the right, beyond the two matrix dimensions.
    const auto size = [&](const Shape& shape) {
      return i + 2 < shape.size() ? shape[shape.size() - 3 - i] : std::int64_t{1};
    };
    batch *= static_cast<double>(std::max(size(left), size(right)));
  }
  OpWork work = finish(product, batch, static_cast<double>(left[left.size() - 2]), static_cast<double>(k),
                       static_cast<double>(right.back()));
  work.composite = true;
  return work;
}

OpWork of_vector(const Product& product) {
  const Shape& matrix = product.left->shape;
  const Shape& vector = product.right->shape;
  if (matrix.size() != 2 || vector.size() != 1 || matrix[1] != vector[0]) return {};
  return finish(product, 1, static_cast<double>(matrix[0]), static_cast<double>(matrix[1]), 1);
}

}  // namespace

OpWork matmul_work(std::string_view op_name, const OpInputs& inputs) {
  const auto product = [&](std::size_t left, std::size_t right, int added) {
    return Product{inputs.tensor(left), inputs.tensor(right),
                   added >= 0 ? inputs.tensor(static_cast<std::size_t>(added)) : nullptr};
  };
  const auto whole = [](const Product& p) { return p.left != nullptr && p.right != nullptr; };
  const auto apply = [&](const Product& p, OpWork (*formula)(const Product&)) {
    return whole(p) ? formula(p) : OpWork{};
  };

  if (is_one_of(op_name, {"aten::mm", "aten::_int_mm", "aten::_scaled_mm"}))
    return apply(product(0, 1, -1), of_matrices);
  if (is_one_of(op_name, {"aten::addmm", "aten::addmm_", "aten::_addmm_activation"}))
    return apply(product(1, 2, 0), of_matrices);
  if (op_name == "aten::bmm") return apply(product(0, 1, -1), of_batches);
  if (is_one_of(op_name, {"aten::baddbmm", "aten::baddbmm_"})) return apply(product(1, 2, 0), of_batches);
  if (op_name == "aten::linear") return apply(product(0, 1, 2), of_linear);
  if (op_name == "aten::matmul") return apply(product(0, 1, -1), of_matmul);
  if (op_name == "aten::mv") return apply(product(0, 1, -1), of_vector);
  if (is_one_of(op_name, {"aten::addmv", "aten::addmv_"})) return apply(product(1, 2, 0), of_vector);
  return {};
}

}  // namespace accel
