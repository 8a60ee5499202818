// Operators and kernels.
#include <algorithm>
#include <set>
#include <vector>

#include "analysis/efficiency/efficiency.h"
#include "analysis/kernel_table.h"
#include "analysis/op_kernels.h"
#include "analysis/operator_table.h"
#include "report/build_parts.h"

namespace accel::report {
namespace {

constexpr std::size_t kOperators = 200;
constexpr std::size_t kShapes = 50;
constexpr std::size_t kKernels = 200;
constexpr std::size_t kOpKernels = 1000;
constexpr std::uint32_t kNoRow = 0xFFFFFFFF;

// The distinct types in a recorded "Input type" list, without scalars and absent inputs:
// `["float","float","Scalar",""]`.
void add_types(std::string_view list, std::set<std::string>& types) {
  while (true) {
    const std::size_t open = list.find('"');
    if (open == std::string_view::npos) return;
    const std::size_t close = list.find('"', open + 1);
    if (close == std::string_view::npos) return;
    const std::string_view type = list.substr(open + 1, close - open - 1);
    if (!type.empty() && type != "Scalar" && type != "ScalarList") types.insert(valid_utf8(type));
    list.remove_prefix(close + 1);
  }
}

std::string joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

// The lists of input types with which each op was called. `row_of_name` says which ops count; the result has one set
// per row. One pass over all slices: the list of the last call of an op is nearly always that of the next one too.
std::vector<std::set<std::uint32_t>> type_lists(const TraceStore& store, const std::vector<std::uint32_t>& row_of_name,
                                                std::size_t rows) {
  std::vector<std::set<std::uint32_t>> lists(rows);
  std::vector<std::uint32_t> last(rows, StringId::kNone);
  for (std::size_t i = 0; i < store.slices.size(); ++i) {
    if (store.slices.kind[i] != SliceKind::op || !store.slices.detail[i].valid()) continue;
    const std::uint32_t row = row_of_name[store.slices.name[i].value];
    if (row == kNoRow) continue;
    const ArgsId args = store.op_details.args[store.slices.detail[i].value];
    if (!args.valid()) continue;
    const std::uint32_t types = store.op_args.types[args.value].value;
    if (types == last[row] || types == StringId::kNone || types == 0) continue;
    last[row] = types;
    lists[row].insert(types);
  }
  return lists;
}

}  // namespace

Text joined_types(const Build& build, std::span<const StringId> lists) {
  std::set<std::string> types;
  for (const StringId list : lists) add_types(build.store.text(list), types);
  return types.empty() ? Text{} : Text{joined(types)};
}

namespace {

OperatorShape shape_entry(const Build& build, const OperatorRow& row) {
  const StringId dims = build.store.op_args.dims[row.args.value];
  const StringId types = build.store.op_args.types[row.args.value];
  return {build.text(dims),
          row.count,
          ms_of(row.self_cpu_ns),
          ms_of(row.cpu_ns),
          ms_of(row.self_device_ns),
          ms_of(row.device_ns),
          joined_types(build, {&types, 1})};
}

}  // namespace

void build_operators(Build& build) {
  build.reasons["operators[].dtype"] = "recorded for ops alone, and with record_shapes=True";
  build.reasons["operators[].shapes"] = "recorded for ops alone, and with record_shapes=True";
  build.reasons["operators[].flops"] =
      "counted for matrix products, convolutions, attention and ops that pass over their tensors, with "
      "record_shapes=True";
  if (!build.results.operator_table) return;
  const OperatorTable& table = *build.results.operator_table;
  const std::size_t shown = build.shown(table.by_name.size(), kOperators, "operators");
  std::vector<std::uint32_t> row_of_name(build.store.strings.size(), kNoRow);
  for (std::size_t i = 0; i < shown; ++i) {
    const OperatorRow& row = table.by_name[i];
    Operator entry;
    const bool is_step = row.name == table.profiler_step_name;
    entry.name = is_step ? std::string("ProfilerStep*") : build.text(row.name);
    entry.count = row.count;
    entry.self_cpu_ms = ms_of(row.self_cpu_ns);
    entry.cpu_ms = ms_of(row.cpu_ns);
    entry.self_device_ms = ms_of(row.self_device_ns);
    entry.device_ms = ms_of(row.device_ns);
    if (row.kind == SliceKind::op && build.results.efficiency) {
      const auto flops = build.results.efficiency->op_flops.find(row.name.value);
      if (flops != build.results.efficiency->op_flops.end()) entry.flops = number(flops->second);
    }
    if (row.kind == SliceKind::op && !is_step)
      row_of_name[row.name.value] = static_cast<std::uint32_t>(build.document.operators.size());
    build.document.operators.push_back(std::move(entry));
  }
  for (const OperatorRow& row : table.by_shape) {
    if (!row.args.valid() || row.kind != SliceKind::op || row.name.value >= row_of_name.size()) continue;
    const StringId dims = build.store.op_args.dims[row.args.value];
    if (!dims.valid() || dims.value == 0) continue;
    const std::uint32_t at = row_of_name[row.name.value];
    if (at == kNoRow) continue;
    auto& shapes = build.document.operators[at].shapes;
    if (!shapes) shapes.emplace();
    shapes->push_back(shape_entry(build, row));
  }
  for (Operator& entry : build.document.operators) {
    if (entry.shapes) build.cap(*entry.shapes, kShapes, "operators[].shapes");
  }
  const auto lists = type_lists(build.store, row_of_name, build.document.operators.size());
  for (std::size_t i = 0; i < lists.size(); ++i) {
    std::set<std::string> types;
    for (const std::uint32_t list : lists[i]) add_types(build.store.text(StringId(list)), types);
    if (!types.empty()) build.document.operators[i].dtype = joined(types);
  }
}

void build_op_kernels(Build& build) {
  if (!build.results.op_kernels || build.results.op_kernels->steps == 0) return;
  const OpKernels& table = *build.results.op_kernels;
  const std::size_t shown = build.shown(table.rows.size(), kOpKernels, "op_kernels");
  const auto text = [&](StringId id) { return id.valid() ? build.text(id) : std::string(); };
  for (std::size_t i = 0; i < shown; ++i) {
    const OpKernelRow& row = table.rows[i];
    build.document.op_kernels.push_back({text(row.op), text(row.dims), text(row.types), text(row.work),
                                         number_or(static_cast<double>(row.count) / table.steps, 0),
                                         ms_of(static_cast<double>(row.ns) / table.steps)});
  }
}

void build_kernels(Build& build) {
  build.reasons["kernel_summary"] = "no kernels in a complete step";
  if (!build.results.kernel_table) return;
  const KernelTable& table = *build.results.kernel_table;
  const std::size_t shown = build.shown(table.kernels.size(), kKernels, "kernels");
  for (std::size_t i = 0; i < shown; ++i) {
    const KernelRow& row = table.kernels[i];
    const double mean = row.count == 0 ? 0 : static_cast<double>(row.total_ns) / static_cast<double>(row.count);
    Kernel entry;
    entry.name = build.text(row.name);
    entry.short_name = valid_utf8(row.short_name);
    entry.count = row.count;
    entry.total_ms = ms_of(row.total_ns);
    entry.mean_us = us_of(mean);
    entry.min_us = us_of(static_cast<double>(row.min_ns));
    entry.max_us = us_of(static_cast<double>(row.max_ns));
    entry.share = number_or(row.share, 0);
    entry.tensor_core = row.tensor_core;
    add_kernel_efficiency(build, row.name, entry);
    build.document.kernels.push_back(std::move(entry));
  }
  if (table.kernels_per_step <= 0) return;
  KernelSummary& summary = build.document.kernel_summary;
  summary.per_step = number(table.kernels_per_step);
  summary.mean_us = us_of(table.mean_kernel_ns);
  summary.share_below_5us = number(table.share_below_5us);
}

}  // namespace accel::report
