#include "runtime/cupti/records.h"

namespace accel::runtime::cupti {
namespace {

template <typename Record>
DeviceRecord common(const Record& record, DeviceWork kind) {
  DeviceRecord out;
  out.kind = kind;
  out.begin = record.start;
  out.end = record.end;
  out.graph_node = record.graph_node;
  out.correlation = record.correlation;
  out.device = record.device;
  out.context = record.context;
  out.stream = record.stream;
  out.graph = record.graph;
  return out;
}

DeviceRecord of_kernel(const KernelRecord& record) {
  DeviceRecord out = common(record, DeviceWork::kernel);
  out.name = record.name;
  out.raw = &record;
  return out;
}

template <typename Record>
DeviceRecord of_copy(const Record& record) {
  DeviceRecord out = common(record, DeviceWork::copy);
  out.bytes = record.bytes;
  out.direction = record.copy_kind;
  out.source = record.source;
  out.destination = record.destination;
  return out;
}

DeviceRecord of_set(const SetRecord& record) {
  DeviceRecord out = common(record, DeviceWork::set);
  out.bytes = record.bytes;
  out.destination = static_cast<std::uint8_t>(record.memory_kind);
  return out;
}

}  // namespace

Decoded decode(const Functions& functions, std::uint8_t* buffer, std::size_t valid_bytes, const Sink& sink) {
  Decoded decoded;
  const std::uint32_t* record = nullptr;
  for (;;) {
    const Result result = functions.next_record(buffer, valid_bytes, &record);
    if (result != 0) {
      decoded.damaged = result != kNoMoreRecords;
      return decoded;
    }
    ++decoded.records;
    const void* at = record;
    switch (*record) {
      case kKindKernel:
      case kKindConcurrentKernel:
        sink.device(sink.context, of_kernel(*static_cast<const KernelRecord*>(at)));
        break;
      case kKindMemcpy:
        sink.device(sink.context, of_copy(*static_cast<const CopyRecord*>(at)));
        break;
      case kKindMemcpyPeer:
        sink.device(sink.context, of_copy(*static_cast<const PeerCopyRecord*>(at)));
        break;
      case kKindMemset:
        sink.device(sink.context, of_set(*static_cast<const SetRecord*>(at)));
        break;
      case kKindRuntime:
      case kKindDriver:
        sink.call(sink.context, *static_cast<const CallRecord*>(at), *record == kKindDriver);
        break;
      default:
        ++decoded.unknown;
    }
  }
}

}  // namespace accel::runtime::cupti
