#include "analysis/op_kernels.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "analysis/analysis.h"
#include "analysis/event_index.h"
#include "analysis/step_segmentation.h"

namespace accel {
namespace {

struct Key {
  std::uint32_t op, dims, types, work;
  auto operator<=>(const Key&) const = default;
};

Key key_of(const TraceStore& store, const EventIndex& index, std::uint32_t event) {
  Key key{StringId::kNone, StringId::kNone, StringId::kNone, store.device_events.name[event].value};
  const SliceId launch = store.device_events.launch[event];
  if (!launch.valid()) return key;
  const SliceId op = store.enclosing_op(launch);
  if (!op.valid() || index.class_of(store, op.value) == NameClass::profiler_step) return key;
  key.op = store.slices.name[op.value].value;
  const DetailId detail = store.slices.detail[op.value];
  if (store.slices.kind[op.value] != SliceKind::op || !detail.valid()) return key;
  const ArgsId args = store.op_details.args[detail.value];
  if (!args.valid()) return key;
  key.dims = store.op_args.dims[args.value].value;
  key.types = store.op_args.types[args.value].value;
  return key;
}

Result<void> run(const TraceStore& store, AnalysisResults& results, const AnalysisOptions&) {
  auto table = std::make_shared<OpKernels>();
  const StepSegmentation& steps = *results.step_segmentation;
  table->steps = steps.complete_count;
  std::map<Key, OpKernelRow> rows;
  for (std::uint32_t i = 0; i < store.device_events.size(); ++i) {
    const std::int32_t step = steps.step_of_device_event[i];
    if (step < 0 || !steps.steps[static_cast<std::size_t>(step)].complete) continue;
    const Key key = key_of(store, *results.event_index, i);
    OpKernelRow& row = rows[key];
    row.op = StringId(key.op);
    row.dims = StringId(key.dims);
    row.types = StringId(key.types);
    row.work = StringId(key.work);
    ++row.count;
    row.ns += store.device_events.dur_ns[i];
  }
  for (const auto& [key, row] : rows) table->rows.push_back(row);
  // Ids depend on the input alone, so the order of rows of equal time does too.
  std::stable_sort(table->rows.begin(), table->rows.end(),
                   [](const OpKernelRow& a, const OpKernelRow& b) { return a.ns > b.ns; });
  results.op_kernels = std::move(table);
  return {};
}

}  // namespace

AnalysisDescriptor describe_op_kernels() {
  return {
      "op_kernels",
      "Device work by op and shape",
      "按算子与形状划分的设备工作",
      {"event_index", "step_segmentation"},
      "Kernels, copies and sets launched in complete steps, by the innermost op around the launch, its input shapes "
      "and types, and their own name: count and sum of durations. Work without an op (the replay of a graph, a "
      "launch outside every op) has an empty op.",
      run};
}

}  // namespace accel
