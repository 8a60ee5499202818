#include "report/chrome_json/chrome_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "report/chrome_json/json_event.h"

namespace accel::report {
namespace {

using Json = nlohmann::ordered_json;
using chrome_json::JsonEvent;

constexpr std::size_t kPiece = std::size_t{1} << 20;

std::string_view category_of(SliceKind kind) {
  switch (kind) {
    case SliceKind::op:
      return "cpu_op";
    case SliceKind::annotation:
      return "user_annotation";
    case SliceKind::frame:
      return "python_function";
    case SliceKind::runtime_call:
      return "cuda_runtime";
    case SliceKind::driver_call:
      return "cuda_driver";
    case SliceKind::overhead:
      return "overhead";
    case SliceKind::other:
      break;
  }
  return {};
}

std::string_view category_of(DeviceEventKind kind) {
  switch (kind) {
    case DeviceEventKind::kernel:
      return "kernel";
    case DeviceEventKind::memcpy:
      return "gpu_memcpy";
    case DeviceEventKind::memset:
      break;
  }
  return "gpu_memset";
}

class Writer {
 public:
  Writer(const TraceStore& store, const ByteSink& sink)
      : store_(store), sink_(sink), event_(store), base_ns_(store.process.base_time_ns.value_or(0)) {}

  void write() {
    index_collectives();
    add_head();
    add_span();
    add_thread_names();
    add_slices();
    add_device_events();
    add_stream_rows();
    add_memory();
    add_counters();
    out_ += "\n]}\n";
    flush();
  }

 private:
  void flush() {
    sink_(out_);
    out_.clear();
  }
  void put_event() {
    out_ += any_event_ ? ",\n" : "\n";
    any_event_ = true;
    out_ += event_.end();
    if (out_.size() > kPiece) flush();
  }

  void index_collectives();
  void add_head();
  void add_span();
  void add_thread_names();
  void add_slices();
  void add_slice(std::uint32_t slice);
  void add_slice_args(std::uint32_t slice);
  void add_device_events();
  void add_device_event(std::uint32_t row);
  void add_kernel_args(DetailId detail);
  void add_collective(const CollectiveRow& row);
  void add_stream_rows();
  void add_memory();
  void add_counters();
  void put_times(std::int64_t start_ns, std::int64_t dur_ns, bool has_end);
  void put_thread(ThreadIndex thread);
  void put_stream(StreamIndex stream);

  const TraceStore& store_;
  const ByteSink& sink_;
  JsonEvent event_;
  std::int64_t base_ns_;
  std::string out_;
  bool any_event_ = false;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> of_slice_;   // slice, row of collectives
  std::vector<std::pair<std::uint32_t, std::uint32_t>> of_kernel_;  // device event, row of collectives
};

void Writer::index_collectives() {
  for (std::uint32_t i = 0; i < store_.collectives.size(); ++i) {
    if (store_.collectives.op[i].valid()) of_slice_.emplace_back(store_.collectives.op[i].value, i);
    if (store_.collectives.kernel[i].valid()) of_kernel_.emplace_back(store_.collectives.kernel[i].value, i);
  }
  std::sort(of_slice_.begin(), of_slice_.end());
  std::sort(of_kernel_.begin(), of_kernel_.end());
}

Json device_json(const DeviceProperties& device) {
  Json out = {{"id", device.index}, {"name", device.name}};
  const auto put = [&](const char* key, std::int64_t value, std::int64_t none) {
    if (value != none) out[key] = value;
  };
  put("totalGlobalMem", device.total_memory_bytes, kNotRecorded);
  put("computeMajor", device.compute_major, kNotRecorded32);
  put("computeMinor", device.compute_minor, kNotRecorded32);
  put("maxThreadsPerMultiprocessor", device.max_threads_per_sm, kNotRecorded32);
  put("regsPerMultiprocessor", device.registers_per_sm, kNotRecorded32);
  put("warpSize", device.warp_size, kNotRecorded32);
  put("sharedMemPerMultiprocessor", device.shared_memory_per_sm, kNotRecorded);
  put("numSms", device.sms, kNotRecorded32);
  return out;
}

void Writer::add_head() {
  const ProcessInfo& process = store_.process;
  Json head = Json::object();
  head["schemaVersion"] = "1";
  for (const auto& [key, value] : process.versions) head[key] = value;
  for (const auto& [key, value] : process.options) head[key] = value;
  if (!process.host.empty()) head["hostname"] = process.host;
  if (!process.devices.empty()) {
    head["deviceProperties"] = Json::array();
    for (const DeviceProperties& device : process.devices) head["deviceProperties"].push_back(device_json(device));
  }
  if (Json recorded = Json::parse(process.distributed_info, nullptr, false); recorded.is_object()) {
    head["distributedInfo"] = std::move(recorded);
  } else if (process.rank && !process.rank_guessed) {
    Json info = {{"rank", *process.rank}};
    if (process.world_size) info["world_size"] = *process.world_size;
    if (!process.backend.empty()) info["backend"] = process.backend;
    head["distributedInfo"] = std::move(info);
  }
  if (process.base_time_ns) head["baseTimeNanoseconds"] = *process.base_time_ns;
  out_ = head.dump(-1, ' ', false, Json::error_handler_t::replace);
  out_.back() = ',';
  out_ += "\n\"traceEvents\":[";
}

void Writer::put_times(std::int64_t start_ns, std::int64_t dur_ns, bool has_end) {
  event_.put_microseconds("ts", start_ns - base_ns_);
  if (has_end) event_.put_microseconds("dur", dur_ns);
}

void Writer::put_thread(ThreadIndex thread) {
  const ThreadTable& threads = store_.threads;
  if (!thread.valid()) return;
  const std::uint16_t row = thread.value;
  event_.put("pid", threads.pid[row]);
  if (threads.pid[row] == kNotRecorded) event_.put_text("pid", threads.pid_text[row]);
  event_.put("tid", threads.tid[row]);
  if (threads.tid[row] == kNotRecorded) event_.put_text("tid", threads.tid_text[row]);
}

// From when to when the recorder ran.
void Writer::add_span() {
  if (!store_.process.recorded) return;
  event_.begin("X", "Trace");
  event_.put_word("name", "PyTorch Profiler (0)");
  event_.put_word("pid", "Spans");
  event_.put_word("tid", "PyTorch Profiler");
  put_times(store_.process.recorded->start_ns, store_.process.recorded->length_ns(), true);
  put_event();
}

void Writer::add_thread_names() {
  for (std::size_t t = 0; t < store_.threads.size(); ++t) {
    if (!store_.threads.name[t].valid()) continue;
    event_.begin("M", "");
    event_.put_word("name", "thread_name");
    put_thread(ThreadIndex(static_cast<std::uint16_t>(t)));
    event_.begin_args();
    event_.put_text("name", store_.threads.name[t]);
    put_event();
  }
}

void Writer::add_slices() {
  // Threads are numbered as they appear.
  for (const auto& [first, last] : store_.thread_ranges) {
    for (std::uint32_t i = first; i < last; ++i) add_slice(i);
  }
}

void Writer::add_slice(std::uint32_t slice) {
  const SliceTable& slices = store_.slices;
  event_.begin("X", category_of(slices.kind[slice]));
  event_.put_text("name", slices.name[slice]);
  put_thread(slices.thread[slice]);
  put_times(slices.start_ns[slice], slices.dur_ns[slice], (slices.flags[slice] & kSliceUnfinished) == 0);
  event_.begin_args();
  if (slices.detail[slice].valid()) add_slice_args(slice);
  for (auto at = std::lower_bound(of_slice_.begin(), of_slice_.end(), std::pair(slice, std::uint32_t{0}));
       at != of_slice_.end() && at->first == slice; ++at)
    add_collective(store_.collectives.row(at->second));
  put_event();
}

void Writer::add_slice_args(std::uint32_t slice) {
  const std::uint32_t detail = store_.slices.detail[slice].value;
  const auto put32 = [&](std::string_view key, std::int32_t value) {
    if (value != kNotRecorded32) event_.put(key, value);
  };
  switch (store_.slices.kind[slice]) {
    case SliceKind::op:
    case SliceKind::annotation: {
      const OpDetailRow row = store_.op_details.row(detail);
      event_.put("External id", row.external_id);
      event_.put("Sequence number", row.sequence);
      put32("Fwd thread id", row.forward_thread);
      if (!row.args.valid()) break;
      event_.put_recorded("Input Dims", store_.op_args.dims[row.args.value]);
      event_.put_recorded("Input type", store_.op_args.types[row.args.value]);
      event_.put_recorded("Input Strides", store_.op_args.strides[row.args.value]);
      event_.put_recorded("Concrete Inputs", store_.op_args.concrete[row.args.value]);
      break;
    }
    case SliceKind::runtime_call:
    case SliceKind::driver_call:
      event_.put("External id", store_.call_details.external_id[detail]);
      event_.put("correlation", store_.call_details.correlation[detail]);
      break;
    case SliceKind::frame: {
      const FrameDetailRow row = store_.frame_details.row(detail);
      put32("Python id", row.python_id);
      put32("Python parent id", row.python_parent_id);
      put32("Python module id", row.module_id);
      break;
    }
    default:
      break;
  }
}

void Writer::add_collective(const CollectiveRow& row) {
  event_.put_text("Collective name", row.name);
  event_.put_text("dtype", row.dtype);
  event_.put("In msg nelems", row.in_elements);
  event_.put("Out msg nelems", row.out_elements);
  event_.put("Group size", row.group_size);
  event_.put_text("Process Group Name", row.group_name);
  event_.put_text("Process Group Description", row.group_description);
  event_.put_text("Process Group Ranks", row.group_ranks);
  if (store_.process.rank) event_.put("Rank", *store_.process.rank);
  event_.put("Seq", row.sequence);
  event_.put("Src Rank", row.source_rank);
  event_.put("Dst Rank", row.destination_rank);
}

void Writer::put_stream(StreamIndex stream) {
  if (!stream.valid()) return;
  const StreamRow row = store_.streams.row(stream.value);
  event_.put("device", row.device);
  event_.put("context", row.context);
  event_.put("stream", row.stream);
}

void Writer::add_device_events() {
  // Streams are numbered as they appear: the first event of each in their order, then the others.
  const DeviceEventTable& events = store_.device_events;
  std::vector<std::uint32_t> first(store_.streams.size(), DeviceEventId::kNone);
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    if (events.stream[i].valid()) first[events.stream[i].value] = std::min(first[events.stream[i].value], i);
  }
  for (const std::uint32_t row : first) {
    if (row != DeviceEventId::kNone) add_device_event(row);
  }
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    if (!events.stream[i].valid() || first[events.stream[i].value] != i) add_device_event(i);
  }
}

void Writer::add_device_event(std::uint32_t i) {
  const DeviceEventRow row = store_.device_events.row(i);
  event_.begin("X", category_of(row.kind));
  event_.put_text("name", row.name);
  if (row.stream.valid()) {
    event_.put("pid", store_.streams.device[row.stream.value]);
    event_.put("tid", store_.streams.stream[row.stream.value]);
  }
  const bool no_time = (row.flags & kDeviceNoTiming) != 0;
  put_times(row.start_ns, row.dur_ns, !no_time || row.dur_ns > 0 || row.start_ns == base_ns_);
  event_.begin_args();
  event_.put("External id", row.external_id);
  event_.put("correlation", row.correlation);
  put_stream(row.stream);
  if (row.detail.valid() && row.kind == DeviceEventKind::kernel) add_kernel_args(row.detail);
  if (row.detail.valid() && row.kind != DeviceEventKind::kernel)
    event_.put("bytes", store_.copy_details.bytes[row.detail.value]);
  for (auto at = std::lower_bound(of_kernel_.begin(), of_kernel_.end(), std::pair(i, std::uint32_t{0}));
       at != of_kernel_.end() && at->first == i; ++at)
    add_collective(store_.collectives.row(at->second));
  put_event();
}

void Writer::add_kernel_args(DetailId detail) {
  const KernelDetailRow row = store_.kernel_details.row(detail.value);
  event_.put("graph node id", row.graph_node);
  if (row.graph != kNotRecorded32) event_.put("graph id", row.graph);
  if (!row.config.valid()) return;
  const LaunchConfigRow config = store_.launch_configs.row(row.config.value);
  event_.put_triple("grid", config.grid_x, config.grid_y, config.grid_z);
  event_.put_triple("block", config.block_x, config.block_y, config.block_z);
  if (config.registers != kNotRecorded32) event_.put("registers per thread", config.registers);
  if (config.shared_memory != kNotRecorded32) event_.put("shared memory", config.shared_memory);
  if (config.blocks_per_sm >= 0) event_.put_real("blocks per SM", config.blocks_per_sm);
  if (config.warps_per_sm >= 0) event_.put_real("warps per SM", config.warps_per_sm);
  if (config.occupancy_percent >= 0) event_.put_real("est. achieved occupancy %", config.occupancy_percent);
}

void Writer::add_stream_rows() {
  const DeviceAnnotationTable& ranges = store_.device_annotations;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    event_.begin("X", "gpu_user_annotation");
    event_.put_text("name", ranges.name[i]);
    put_times(ranges.start_ns[i], ranges.dur_ns[i], true);
    event_.begin_args();
    put_stream(ranges.stream[i]);
    put_event();
  }
  const DeviceSyncTable& syncs = store_.device_syncs;
  for (std::size_t i = 0; i < syncs.size(); ++i) {
    event_.begin("X", "cuda_sync");
    event_.put_text("name", syncs.name[i]);
    put_times(syncs.start_ns[i], syncs.dur_ns[i], true);
    event_.begin_args();
    put_stream(syncs.stream[i]);
    event_.put("correlation", syncs.correlation[i]);
    event_.put("wait_on_stream", syncs.wait_on_stream[i]);
    event_.put("wait_on_cuda_event_record_corr_id", syncs.record_correlation[i]);
    put_event();
  }
}

void Writer::add_memory() {
  const MemoryEventTable& table = store_.memory_events;
  for (std::size_t i = 0; i < table.size(); ++i) {
    event_.begin("i", "cpu_instant_event");
    event_.put_word("name", "[memory]");
    event_.put_word("s", "t");
    put_thread(table.thread[i]);
    put_times(table.time_ns[i], 0, false);
    event_.begin_args();
    event_.put("Addr", table.address[i]);
    event_.put("Bytes", table.bytes[i]);
    event_.put("Total Allocated", table.total_allocated[i]);
    event_.put("Total Reserved", table.total_reserved[i]);
    event_.put("Device Type", table.device_type[i]);
    event_.put("Device Id", table.device[i]);
    put_event();
  }
}

void Writer::add_counters() {
  const CounterTable& table = store_.counters;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::string_view name = store_.text(table.name[i]);
    const std::size_t colon = name.rfind(':');
    const bool has_series = colon != std::string_view::npos && colon > 0;
    event_.begin("C", "");
    event_.put_word("name", has_series ? name.substr(0, colon) : name);
    put_times(table.time_ns[i], 0, false);
    event_.begin_args();
    event_.put_series(has_series ? name.substr(colon + 1) : std::string_view(), table.value[i]);
    put_event();
  }
}

}  // namespace

void write_chrome_json(const TraceStore& store, const ByteSink& sink) { Writer(store, sink).write(); }

}  // namespace accel::report
