#include "report/chrome_json/chrome_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "unit/ingest/stores.h"

namespace accel::report {
namespace {

using accel::testing::golden_path;
using accel::testing::import_text;

std::string converted(const TraceStore& store) {
  std::string text;
  write_chrome_json(store, [&](std::string_view bytes) { text += bytes; });
  return text;
}

std::string text(const TraceStore& store, StringId id) {
  return id.valid() && !store.text(id).empty() ? "'" + std::string(store.text(id)) + "'" : "-";
}

std::string args_of(const TraceStore& store, ArgsId id) {
  if (!id.valid()) return "- - - -";
  const OpArgsRow row = store.op_args.row(id.value);
  return text(store, row.dims) + text(store, row.types) + text(store, row.strides) + text(store, row.concrete);
}

std::string thread(const TraceStore& store, ThreadIndex id) {
  if (!id.valid()) return "-";
  const ThreadRow row = store.threads.row(id.value);
  return fmt::format("{}/{}/{}{}{}", row.pid, row.tid, text(store, row.pid_text), text(store, row.tid_text),
                     text(store, row.name));
}

std::string stream(const TraceStore& store, StreamIndex id) {
  const StreamRow row = store.streams.row(id.value);
  return fmt::format("{}/{}/{}", row.device, row.context, row.stream);
}

std::string detail(const TraceStore& store, std::uint32_t slice) {
  const DetailId id = store.slices.detail[slice];
  const SliceKind kind = store.slices.kind[slice];
  if (kind == SliceKind::op || kind == SliceKind::annotation) {
    OpDetailRow row{kNotRecorded, kNotRecorded, ArgsId(), kNotRecorded32};
    if (id.valid()) row = store.op_details.row(id.value);
    return fmt::format("{} {} {} {}", row.sequence, row.external_id, row.forward_thread, args_of(store, row.args));
  }
  if (!id.valid()) return "-";
  if (kind == SliceKind::frame) {
    const FrameDetailRow row = store.frame_details.row(id.value);
    return fmt::format("{} {} {}", row.python_id, row.python_parent_id, row.module_id);
  }
  const CallDetailRow row = store.call_details.row(id.value);
  return fmt::format("{} {}", row.correlation, row.external_id);
}

std::string device_detail(const TraceStore& store, std::uint32_t event) {
  const DetailId id = store.device_events.detail[event];
  // No detail, and a detail in which nothing is recorded, say the same.
  const KernelDetailRow kernel = id.valid() && store.device_events.kind[event] == DeviceEventKind::kernel
                                     ? store.kernel_details.row(id.value)
                                     : KernelDetailRow{LaunchConfigId(), kNotRecorded, kNotRecorded32};
  const bool has_config = kernel.config.valid() && store.launch_configs.grid_x[kernel.config.value] != kNotRecorded32;
  if (!id.valid()) return fmt::format("{} {} -", kernel.graph_node, kernel.graph);
  if (store.device_events.kind[event] != DeviceEventKind::kernel) {
    const CopyDetailRow row = store.copy_details.row(id.value);
    return fmt::format("{} {} {} {}", row.bytes, static_cast<int>(row.direction), static_cast<int>(row.source),
                       static_cast<int>(row.destination));
  }
  std::string config = "-";
  if (has_config) {
    const LaunchConfigRow c = store.launch_configs.row(kernel.config.value);
    config = fmt::format("{} {} {} {} {} {} {} {} {} {} {}", c.grid_x, c.grid_y, c.grid_z, c.block_x, c.block_y,
                         c.block_z, c.registers, c.shared_memory, c.occupancy_percent, c.blocks_per_sm, c.warps_per_sm);
  }
  return fmt::format("{} {} {}", kernel.graph_node, kernel.graph, config);
}

// Every row with everything that it leads to, in words: numbers of rows may differ, what they say may not.
std::vector<std::string> rows_of(const TraceStore& store) {
  // A frame that ends with its parent is written with that end.
  constexpr std::uint8_t kFlags = static_cast<std::uint8_t>(~kSliceClamped);
  std::vector<std::string> rows;
  for (std::uint32_t i = 0; i < store.slices.size(); ++i) {
    const SliceRow row = store.slices.row(i);
    rows.push_back(fmt::format("slice {} {} {} {} {} {} {} {} {}", row.start_ns, row.dur_ns, text(store, row.name),
                               static_cast<int>(row.kind), row.flags & kFlags, thread(store, row.thread),
                               row.parent.value, row.depth, detail(store, i)));
  }
  for (std::uint32_t i = 0; i < store.device_events.size(); ++i) {
    const DeviceEventRow row = store.device_events.row(i);
    rows.push_back(fmt::format("device {} {} {} {} {} {} {} {} {} {}", row.start_ns, row.dur_ns, text(store, row.name),
                               row.correlation, row.external_id, stream(store, row.stream), row.launch.value,
                               static_cast<int>(row.kind), row.flags, device_detail(store, i)));
  }
  for (std::size_t i = 0; i < store.device_syncs.size(); ++i) {
    const DeviceSyncRow row = store.device_syncs.row(i);
    rows.push_back(fmt::format("sync {} {} {} {} {} {} {} {}", row.start_ns, row.dur_ns, row.correlation,
                               row.wait_stream, row.wait_on_stream, row.record_correlation, text(store, row.name),
                               stream(store, row.stream)));
  }
  for (std::size_t i = 0; i < store.device_annotations.size(); ++i) {
    const DeviceAnnotationRow row = store.device_annotations.row(i);
    rows.push_back(
        fmt::format("range {} {} {} {}", row.start_ns, row.dur_ns, text(store, row.name), stream(store, row.stream)));
  }
  for (std::size_t i = 0; i < store.memory_events.size(); ++i) {
    const MemoryEventRow row = store.memory_events.row(i);
    rows.push_back(fmt::format("memory {} {} {} {} {} {} {} {}", row.time_ns, row.address, row.bytes,
                               row.total_allocated, row.total_reserved, thread(store, row.thread), row.device_type,
                               row.device));
  }
  for (std::size_t i = 0; i < store.counters.size(); ++i) {
    const CounterRow row = store.counters.row(i);
    rows.push_back(fmt::format("counter {} {} {}", row.time_ns, row.value, text(store, row.name)));
  }
  std::vector<std::string> collectives;  // of which the order is that of the file
  for (std::size_t i = 0; i < store.collectives.size(); ++i) {
    const CollectiveRow row = store.collectives.row(i);
    collectives.push_back(fmt::format("collective {} {} {} {} {} {} {} {} {} {} {} {} {}", row.op.value,
                                      row.kernel.value, row.sequence, row.in_elements, row.out_elements, row.group_size,
                                      row.source_rank, row.destination_rank, text(store, row.name),
                                      text(store, row.dtype), text(store, row.group_name),
                                      text(store, row.group_description), text(store, row.group_ranks)));
  }
  std::sort(collectives.begin(), collectives.end());
  rows.insert(rows.end(), collectives.begin(), collectives.end());
  const ProcessInfo& process = store.process;
  rows.push_back(fmt::format("process {} {} {} {} {} {} {} {}", process.rank.value_or(-1),
                             process.world_size.value_or(-1), process.backend, process.host, process.main_pid,
                             process.base_time_ns.value_or(0), process.recorded ? process.recorded->start_ns : -1,
                             process.recorded ? process.recorded->end_ns : -1));
  for (const char* key : {"record_shapes", "with_stack", "profile_memory", "trace_id"}) {
    const auto option = process.options.find(key);
    if (option != process.options.end()) rows.push_back(std::string("option ") + key + "=" + option->second);
  }
  for (const DeviceProperties& d : process.devices)
    rows.push_back(fmt::format("properties {} {} {} {} {} {} {} {} {} {}", d.index, d.name, d.total_memory_bytes, d.sms,
                               d.compute_major, d.compute_minor, d.max_threads_per_sm, d.registers_per_sm,
                               d.shared_memory_per_sm, d.warp_size));
  return rows;
}

std::string first_difference(const TraceStore& a, const TraceStore& b) {
  const std::vector<std::string> before = rows_of(a), after = rows_of(b);
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (before[i] != after[i]) return before[i] + "\n  became\n" + after[i];
  }
  return before.size() == after.size() ? "" : fmt::format("{} rows became {}", before.size(), after.size());
}

class ChromeJson : public ::testing::TestWithParam<const char*> {};

TEST_P(ChromeJson, IsReadBackIntoTheSameTables) {
  const auto before = import_trace(golden_path(GetParam()), {});
  ASSERT_TRUE(before.ok());
  ASSERT_GT(before->slices.size(), 0U);
  const auto after = import_text(converted(*before));
  ASSERT_TRUE(after.ok()) << after.error().message;
  EXPECT_EQ(first_difference(*before, *after), "");
}

INSTANTIATE_TEST_SUITE_P(Captures, ChromeJson,
                         ::testing::Values("launch_bound.before.json.gz", "pageable_h2d.before.json.gz",
                                           "fsdp2.rank0.json.gz", "jobs/python_work.json.gz",
                                           "../native/slow_loader-format_1.0.accel"),
                         [](const auto& capture) {
                           std::string name = capture.param;
                           std::replace_if(name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

TEST(ChromeJsonOf, NamesThatNeedEscapesIdsBeyond32BitsAndTimesBeforeTheBaseStay) {
  const auto before = import_text(R"({"schemaVersion": 1, "baseTimeNanoseconds": 1700000000000000000, "traceEvents": [
    {"ph":"X","cat":"cpu_op","name":"a\"b\\c\u0001</script>","pid":7168000000,"tid":139627874611776,"ts":-5.001,"dur":2},
    {"ph":"X","cat":"cpu_op","name":"odd dims","pid":1,"tid":"main","ts":3,"dur":0.001,"args":{"Input Dims":[[2, 3],[]]}},
    {"ph":"X","cat":"cpu_op","name":"open","pid":1,"tid":"main","ts":4},
    {"ph":"C","name":"a:b","pid":1,"ts":5,"args":{"c":0.1}}]})");
  ASSERT_TRUE(before.ok());
  const auto after = import_text(converted(*before));
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(first_difference(*before, *after), "");
}

}  // namespace
}  // namespace accel::report
