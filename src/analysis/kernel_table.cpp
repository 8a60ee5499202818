#include "analysis/kernel_table.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/analysis.h"
#include "analysis/event_index.h"
#include "analysis/step_segmentation.h"

namespace accel {
namespace {

constexpr std::int64_t kShortKernelNs = 5000;

bool in_complete_step(const StepSegmentation& segmentation, std::uint32_t event) {
  const std::int32_t step = segmentation.step_of_device_event[event];
  return step >= 0 && segmentation.steps[step].complete;
}

bool is_graph_replay(const TraceStore& store, const EventIndex& index, std::uint32_t event) {
  const SliceId launch = store.device_events.launch[event];
  if (launch.valid()) return index.class_of(store, launch.value) == NameClass::graph_launch;
  const DetailId detail = store.device_events.detail[event];
  if (store.device_events.kind[event] != DeviceEventKind::kernel || !detail.valid()) return false;
  const std::int64_t node = store.kernel_details.graph_node[detail.value];
  return node != kNotRecorded && node != 0;
}

struct Headline {
  std::uint64_t kernels = 0;
  std::uint64_t below_5us = 0;
  std::int64_t total_ns = 0;
};

void add_kernel(const TraceStore& store, const StepSegmentation& segmentation, std::uint32_t event, KernelRow& row,
                Headline& headline) {
  const std::int64_t dur = store.device_events.dur_ns[event];
  if (row.count == 0) row.min_ns = row.max_ns = dur;
  ++row.count;
  row.total_ns += dur;
  row.min_ns = std::min(row.min_ns, dur);
  row.max_ns = std::max(row.max_ns, dur);
  if (!in_complete_step(segmentation, event)) return;
  ++row.count_in_steps;
  row.ns_in_steps += dur;
  ++headline.kernels;
  headline.total_ns += dur;
  headline.below_5us += dur < kShortKernelNs ? 1 : 0;
}

std::vector<KernelRow> finish_rows(const TraceStore& store, const EventIndex& index, std::vector<KernelRow> rows) {
  std::int64_t total = 0;
  for (const KernelRow& row : rows) total += row.total_ns;
  for (KernelRow& row : rows) {
    const std::string_view name = store.text(row.name);
    row.short_name = short_kernel_name(name);
    row.share = total > 0 ? static_cast<double>(row.total_ns) / static_cast<double>(total) : 0;
    row.communication = index.communication_name[row.name.value] != 0;
    row.tensor_core = uses_tensor_cores(name);
  }
  std::sort(rows.begin(), rows.end(), [&](const KernelRow& a, const KernelRow& b) {
    return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : store.text(a.name) < store.text(b.name);
  });
  return rows;
}

void collect_kernels(const TraceStore& store, const EventIndex& index, const StepSegmentation& segmentation,
                     KernelTable& table) {
  std::vector<std::uint32_t> row_of_name(store.strings.size(), 0);
  std::vector<KernelRow> rows;
  Headline headline;
  for (std::uint32_t i = 0; i < store.device_events.size(); ++i) {
    if ((store.device_events.flags[i] & kDeviceNoTiming) != 0) continue;
    if (is_graph_replay(store, index, i)) table.graph_replay_ns += store.device_events.dur_ns[i];
    if (store.device_events.kind[i] != DeviceEventKind::kernel) continue;
    std::uint32_t& row = row_of_name[store.device_events.name[i].value];
    if (row == 0) {
      rows.emplace_back().name = store.device_events.name[i];
      row = static_cast<std::uint32_t>(rows.size());
    }
    add_kernel(store, segmentation, i, rows[row - 1], headline);
  }
  table.kernels = finish_rows(store, index, std::move(rows));
  if (segmentation.complete_count > 0)
    table.kernels_per_step = static_cast<double>(headline.kernels) / segmentation.complete_count;
  if (headline.kernels == 0) return;
  table.mean_kernel_ns = static_cast<double>(headline.total_ns) / static_cast<double>(headline.kernels);
  table.share_below_5us = static_cast<double>(headline.below_5us) / static_cast<double>(headline.kernels);
}

void collect_copies(const TraceStore& store, const StepSegmentation& segmentation, KernelTable& table) {
  std::map<std::tuple<bool, CopyDirection, MemoryKind, MemoryKind>, CopyRow> rows;
  for (std::uint32_t i = 0; i < store.device_events.size(); ++i) {
    const DeviceEventKind kind = store.device_events.kind[i];
    if (kind == DeviceEventKind::kernel || (store.device_events.flags[i] & kDeviceNoTiming) != 0) continue;
    CopyRow key;
    key.is_set = kind == DeviceEventKind::memset;
    std::int64_t bytes = 0;
    if (store.device_events.detail[i].valid()) {
      const std::uint32_t detail = store.device_events.detail[i].value;
      key.direction = store.copy_details.direction[detail];
      key.source = store.copy_details.source[detail];
      key.destination = store.copy_details.destination[detail];
      if (store.copy_details.bytes[detail] != kNotRecorded) bytes = store.copy_details.bytes[detail];
    }
    CopyRow& row =
        rows.try_emplace(std::tuple(key.is_set, key.direction, key.source, key.destination), key).first->second;
    const std::int64_t dur = store.device_events.dur_ns[i];
    ++row.count;
    row.bytes += bytes;
    row.total_ns += dur;
    if (!in_complete_step(segmentation, i)) continue;
    ++row.count_in_steps;
    row.bytes_in_steps += bytes;
    row.ns_in_steps += dur;
  }
  for (const auto& [key, row] : rows) table.copies.push_back(row);
  std::stable_sort(table.copies.begin(), table.copies.end(),
                   [](const CopyRow& a, const CopyRow& b) { return a.total_ns > b.total_ns; });
}

Result<void> run(const TraceStore& store, AnalysisResults& results, const AnalysisOptions&) {
  auto table = std::make_shared<KernelTable>();
  collect_kernels(store, *results.event_index, *results.step_segmentation, *table);
  collect_copies(store, *results.step_segmentation, *table);
  results.kernel_table = std::move(table);
  return {};
}

}  // namespace

AnalysisDescriptor describe_kernel_table() {
  return {"kernel_table",
          "Kernels",
          "核函数表",
          {"event_index", "step_segmentation"},
          "Count, total, mean, min, max and share of the kernels by name, and copies by kind. Per-step figures leave "
          "out what "
          "belongs to no complete step: kernels launched before the window are real work and no step's.",
          run};
}

}  // namespace accel
