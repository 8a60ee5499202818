#include "runtime/cupti/device_rows.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <new>
#include <string_view>

#include "runtime/cupti/devices.h"

namespace accel::runtime::cupti {
namespace {

using format::NativeTable;
using format::RowBuffer;
namespace native = format::native;

struct Room {
  NativeTable table;
  std::uint32_t rows;
  std::uint32_t text_bytes;
};
constexpr Room kRooms[] = {{NativeTable::Device, 64, 8192},
                           {NativeTable::Launch, 1024, 0},
                           {NativeTable::DeviceEvent, 4096, 0},
                           {NativeTable::Call, 4096, 0}};

constexpr std::uint32_t kLeftOut = ~std::uint32_t{0};

// What an analysis of host and device needs: launches, copies and sets, waits, events, memory. The rest (getters, error
// checks; about ten calls a kernel in eager training) is counted and left out.
constexpr std::string_view kKept[] = {"Launch",      "Memcpy",    "Memset",      "Synchronize", "Malloc",
                                      "MemAlloc",    "Free",      "EventRecord", "WaitEvent",   "EventQuery",
                                      "StreamQuery", "HostAlloc", "ModuleLoad",  "LibraryLoad", "GraphInstantiate"};

bool is_kept(std::string_view name) {
  for (const std::string_view part : kKept) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

// cudaLaunchKernel_v7000 and cudaLaunchKernel_ptsz_v7000 are cudaLaunchKernel to everybody else; cuMemAlloc_v2 is not.
std::string_view plain_name(std::string_view name) {
  const std::size_t at = name.rfind("_v");
  if (at != std::string_view::npos && name.size() - at >= 6) name = {name.data(), at};
  for (const std::string_view ending : {"_ptsz", "_ptds"}) {
    if (name.size() > ending.size() &&
        std::string_view(name.data() + name.size() - ending.size(), ending.size()) == ending)
      name.remove_suffix(ending.size());
  }
  return name;
}

const char* direction_text(std::uint8_t direction) {
  constexpr const char* kTexts[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                    "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
  return direction < sizeof kTexts / sizeof kTexts[0] ? kTexts[direction] : kTexts[0];
}

const char* memory_text(std::uint8_t kind) {
  constexpr const char* kTexts[] = {"Unknown", "Pageable", "Pinned", "Device", "Array", "Managed", "Device", "Managed"};
  return kind < sizeof kTexts / sizeof kTexts[0] ? kTexts[kind] : kTexts[0];
}

}  // namespace

DeviceRows* DeviceRows::make(NameRegistry& names, Out out) {
  const std::size_t head = (sizeof(DeviceRows) + 63) & ~std::size_t{63};
  std::size_t bytes = head;
  for (const Room& room : kRooms)
    bytes += RowBuffer::bytes_needed(format::layout_of(room.table), room.rows, room.text_bytes);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* made = new (memory) DeviceRows();
  made->block_bytes_ = bytes;
  made->names_ = &names;
  made->out_ = out;
  RowBuffer* const buffers[] = {&made->devices_, &made->launches_, &made->events_, &made->calls_};
  char* at = static_cast<char*>(memory) + head;
  for (std::size_t i = 0; i < sizeof kRooms / sizeof kRooms[0]; ++i) {
    const format::TableLayout& layout = format::layout_of(kRooms[i].table);
    buffers[i]->init(layout, kRooms[i].rows, kRooms[i].text_bytes, at);
    at += RowBuffer::bytes_needed(layout, kRooms[i].rows, kRooms[i].text_bytes);
  }
  return made;
}

void DeviceRows::destroy(DeviceRows* rows) {
  const std::size_t bytes = rows->block_bytes_;
  rows->~DeviceRows();
  ::munmap(rows, bytes);
}

void DeviceRows::make_room(RowBuffer& rows, std::size_t text_bytes) {
  if (rows.has_room(text_bytes)) return;
  if (&rows == &events_) out_.write(out_.context, launches_);
  out_.write(out_.context, rows);
}

void DeviceRows::write_devices() {
  const std::uint32_t count = device_count();
  for (std::uint32_t i = 0; i < count; ++i) {
    DeviceFacts facts;
    if (!device_facts(i, facts)) continue;
    const std::string_view name = facts.name;
    const std::string_view pci = facts.pci;
    make_room(devices_, name.size() + pci.size());
    put_row(devices_,
            native::DeviceRow{i, name, pci, facts.memory, facts.processors, facts.capability_major,
                              facts.capability_minor, facts.threads_per_processor, facts.registers_per_processor,
                              facts.shared_memory_per_processor, facts.warp_size});
  }
}

void DeviceRows::take(const Functions& functions, std::uint8_t* buffer, std::size_t valid_bytes,
                      std::uint64_t keep_from) {
  functions_ = &functions;
  keep_from_ = keep_from;
  const Sink sink = {
      this, [](void* rows, const DeviceRecord& record) { static_cast<DeviceRows*>(rows)->device(record); },
      [](void* rows, const CallRecord& record, bool driver) { static_cast<DeviceRows*>(rows)->call(record, driver); }};
  if (decode(functions, buffer, valid_bytes, sink).damaged) ++counts_.damaged_buffers;
}

void DeviceRows::device(const DeviceRecord& record) {
  const bool timed = record.end != 0;
  if (timed && record.end < keep_from_) {
    ++counts_.before_window;
    return;
  }
  if (!timed) ++counts_.without_time;
  native::DeviceEventRow row;
  row.begin = timed ? record.begin : format::kNoU64;
  row.end = timed ? record.end : format::kNoU64;
  row.bytes = record.bytes;
  row.graph_node = record.graph_node == 0 ? format::kNoU64 : record.graph_node;
  row.correlation = record.correlation;
  row.name = record.kind == DeviceWork::kernel
                 ? names_->intern("kernel", record.name == nullptr ? "(no name)" : record.name)
                 : name_of_copy(record);
  row.launch = record.raw != nullptr ? launch_of(*record.raw) : 0;
  row.device = record.device;
  row.context = record.context;
  row.stream = record.stream;
  row.graph = record.graph;
  row.kind = static_cast<std::uint8_t>(record.kind);
  row.direction = record.direction;
  row.source = record.source;
  row.destination = record.destination;
  make_room(events_, 0);
  put_row(events_, row);
  ++counts_.events;
}

// The names are those that other profilers of the field give.
std::uint32_t DeviceRows::name_of_copy(const DeviceRecord& record) {
  char text[96];
  if (record.kind == DeviceWork::set) {
    std::snprintf(text, sizeof text, "Memset (%s)", memory_text(record.destination));
  } else {
    std::snprintf(text, sizeof text, "Memcpy %s (%s -> %s)", direction_text(record.direction),
                  memory_text(record.source), memory_text(record.destination));
  }
  return names_->intern("copy", text);
}

std::uint32_t DeviceRows::launch_of(const KernelRecord& record) {
  const std::uint32_t values[8] = {static_cast<std::uint32_t>(record.grid[0]),
                                   static_cast<std::uint32_t>(record.grid[1]),
                                   static_cast<std::uint32_t>(record.grid[2]),
                                   static_cast<std::uint32_t>(record.block[0]),
                                   static_cast<std::uint32_t>(record.block[1]),
                                   static_cast<std::uint32_t>(record.block[2]),
                                   record.registers,
                                   static_cast<std::uint32_t>(record.static_shared_memory) +
                                       static_cast<std::uint32_t>(record.dynamic_shared_memory)};
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const std::uint32_t value : values) hash = (hash ^ value) * 16777619U;
  constexpr std::uint32_t kTries = 8;
  Launch* place = nullptr;
  for (std::uint32_t i = 0; i < kTries; ++i) {
    Launch& entry = launch_table_[(hash + i) % kLaunches];
    if (entry.id == 0) {
      place = &entry;
      break;
    }
    if (std::memcmp(entry.values, values, sizeof values) == 0) return entry.id;
  }
  if (place == nullptr) place = &launch_table_[hash % kLaunches];  // forgets one: its next use is a row of its own
  place->id = ++launch_count_;
  std::memcpy(place->values, values, sizeof values);
  make_room(launches_, 0);
  put_row(launches_, native::LaunchRow{place->id, values[0], values[1], values[2], values[3], values[4], values[5],
                                       values[6], values[7]});
  return place->id;
}

std::uint32_t DeviceRows::name_of_call(std::uint32_t function, bool driver) {
  std::uint32_t* known = function < kFunctions ? &call_names_[driver ? 1 : 0][function] : nullptr;
  if (known != nullptr && *known != 0) return *known;
  const char* text = nullptr;
  const std::uint32_t domain = driver ? kDomainDriver : kDomainRuntime;
  std::uint32_t name = kLeftOut;
  if (functions_->get_callback_name(domain, function, &text) == 0 && text != nullptr && is_kept(text))
    name = names_->intern(driver ? "driver" : "runtime", plain_name(text));
  if (known != nullptr) *known = name;
  return name;
}

void DeviceRows::call(const CallRecord& record, bool driver) {
  const std::uint32_t name = name_of_call(record.function, driver);
  if (name == kLeftOut) {
    ++counts_.calls_left_out;
    return;
  }
  if (record.end < keep_from_) {
    ++counts_.before_window;
    return;
  }
  make_room(calls_, 0);
  put_row(calls_, native::CallRow{record.start, record.end, name, record.thread, record.correlation,
                                  static_cast<std::uint8_t>(driver ? 1 : 0)});
  ++counts_.calls;
}

void DeviceRows::flush() {
  for (RowBuffer* rows : {&devices_, &launches_, &events_, &calls_}) {
    if (!rows->empty()) out_.write(out_.context, *rows);
  }
}

}  // namespace accel::runtime::cupti
