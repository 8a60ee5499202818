#include "ingest/native_device.h"

#include <algorithm>

namespace accel::native_binary {
namespace {

using format::NativeRows;

std::int32_t small(std::int64_t value) {
  return value == kNotRecorded || value > INT32_MAX || value < 0 ? kNotRecorded32 : static_cast<std::int32_t>(value);
}

std::int64_t known(std::uint64_t value) { return value > INT64_MAX ? kNotRecorded : static_cast<std::int64_t>(value); }

// Numbers of CUPTI (CUpti_ActivityMemcpyKind, CUpti_ActivityMemoryKind).
CopyDirection direction_of(std::uint64_t number) {
  switch (number) {
    case 1:
    case 3:
      return CopyDirection::host_to_device;
    case 2:
    case 4:
      return CopyDirection::device_to_host;
    case 5:
    case 6:
    case 7:
    case 8:
      return CopyDirection::device_to_device;
    case 9:
      return CopyDirection::host_to_host;
    case 10:
      return CopyDirection::peer;
    default:
      return CopyDirection::unknown;
  }
}

MemoryKind memory_of(std::uint64_t number) {
  constexpr MemoryKind kKinds[] = {MemoryKind::unknown, MemoryKind::pageable, MemoryKind::pinned, MemoryKind::device,
                                   MemoryKind::array,   MemoryKind::managed,  MemoryKind::device, MemoryKind::managed};
  return number < std::size(kKinds) ? kKinds[number] : MemoryKind::unknown;
}

}  // namespace

void DeviceImport::devices(const NativeRows& rows) {
  const auto index = rows.column("index");
  const auto name = rows.column("name");
  const auto memory = rows.column("memory");
  const auto processors = rows.column("processors");
  const auto major = rows.column("capability_major");
  const auto minor = rows.column("capability_minor");
  const auto threads = rows.column("threads_per_processor");
  const auto registers = rows.column("registers_per_processor");
  const auto shared = rows.column("shared_memory_per_processor");
  const auto warp = rows.column("warp_size");
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    DeviceProperties device;
    device.index = known(index.u64(row));
    device.name = name.text(row);
    device.total_memory_bytes = known(memory.u64(row));
    device.sms = small(processors.i64(row));
    device.compute_major = small(major.i64(row));
    device.compute_minor = small(minor.i64(row));
    device.max_threads_per_sm = small(threads.i64(row));
    device.registers_per_sm = small(registers.i64(row));
    device.shared_memory_per_sm = shared.i64(row);
    device.warp_size = small(warp.i64(row));
    process_.devices.push_back(std::move(device));
  }
}

void DeviceImport::launches(const NativeRows& rows) {
  const auto id = rows.column("id");
  constexpr const char* kSizes[] = {"grid_x",  "grid_y",  "grid_z",    "block_x",
                                    "block_y", "block_z", "registers", "shared_memory"};
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    LaunchConfigRow launch{};
    std::int32_t* const fields[] = {&launch.grid_x,  &launch.grid_y,  &launch.grid_z,    &launch.block_x,
                                    &launch.block_y, &launch.block_z, &launch.registers, &launch.shared_memory};
    for (std::size_t i = 0; i < std::size(fields); ++i) *fields[i] = small(known(rows.column(kSizes[i]).u64(row)));
    launch.occupancy_percent = launch.blocks_per_sm = launch.warps_per_sm = -1;
    launches_[id.u64(row)] = batch_.add_launch_config(launch);
  }
}

void DeviceImport::events(const NativeRows& rows) {
  const auto begin = rows.column("begin");
  const auto end = rows.column("end");
  const auto bytes = rows.column("bytes");
  const auto node = rows.column("graph_node");
  const auto correlation = rows.column("correlation");
  const auto name = rows.column("name");
  const auto launch = rows.column("launch");
  const auto device = rows.column("device");
  const auto context = rows.column("context");
  const auto stream = rows.column("stream");
  const auto graph = rows.column("graph");
  const auto kind = rows.column("kind");
  const auto direction = rows.column("direction");
  const auto source = rows.column("source");
  const auto destination = rows.column("destination");
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    DeviceEventRow event{};
    const bool timed = begin.u64(row) != format::kNoU64;
    event.start_ns = timed ? static_cast<std::int64_t>(begin.u64(row)) : 0;  // ticks until settle()
    event.dur_ns = timed ? static_cast<std::int64_t>(end.u64(row)) : 0;
    if (!timed) event.flags |= kDeviceNoTiming;
    event.correlation = known(correlation.u64(row));
    event.external_id = kNotRecorded;
    event.name = name_of_(name.u64(row));
    event.stream = batch_.add_stream(known(device.u64(row)), known(context.u64(row)), known(stream.u64(row)));
    if (kind.u64(row) == 0) {
      event.kind = DeviceEventKind::kernel;
      const auto config = launches_.find(launch.u64(row));
      const KernelDetailRow detail{config == launches_.end() ? LaunchConfigId() : config->second, known(node.u64(row)),
                                   graph.u64(row) == 0 ? kNotRecorded32 : small(known(graph.u64(row)))};
      batch_.add_device_event(event, &detail);
    } else {
      event.kind = kind.u64(row) == 1 ? DeviceEventKind::memcpy : DeviceEventKind::memset;
      const CopyDetailRow detail{known(bytes.u64(row)), direction_of(direction.u64(row)), memory_of(source.u64(row)),
                                 memory_of(destination.u64(row))};
      batch_.add_device_event(event, &detail);
    }
  }
}

void DeviceImport::calls(const NativeRows& rows, std::int64_t pid) {
  const auto begin = rows.column("begin");
  const auto end = rows.column("end");
  const auto name = rows.column("name");
  const auto tid = rows.column("tid");
  const auto correlation = rows.column("correlation");
  const auto driver = rows.column("driver");
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    SliceRow slice{};
    slice.start_ns = static_cast<std::int64_t>(begin.u64(row));
    slice.dur_ns = static_cast<std::int64_t>(std::max(end.u64(row), begin.u64(row)));
    slice.name = name_of_(name.u64(row));
    slice.thread = batch_.add_thread(pid, known(tid.u64(row)), StringId(0), StringId(0));
    slice.kind = driver.u64(row) == 0 ? SliceKind::runtime_call : SliceKind::driver_call;
    const CallDetailRow detail{known(correlation.u64(row)), kNotRecorded};
    batch_.add_slice(slice, &detail);
  }
}

void DeviceImport::settle(const format::TickClock& clock) {
  for (std::size_t i = 0; i < batch_.device_events.size(); ++i) {
    if ((batch_.device_events.flags[i] & kDeviceNoTiming) != 0) continue;
    const std::int64_t start = clock.to_ns(static_cast<std::uint64_t>(batch_.device_events.start_ns[i]));
    const std::int64_t end = clock.to_ns(static_cast<std::uint64_t>(batch_.device_events.dur_ns[i]));
    batch_.device_events.start_ns[i] = start;
    batch_.device_events.dur_ns[i] = std::max<std::int64_t>(0, end - start);
  }
}

}  // namespace accel::native_binary
