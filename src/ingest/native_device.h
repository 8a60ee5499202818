// The device's tables of a native capture (device, launch, device_event, call) into a batch of the store. Times stay
// ticks until settle(), because the last pair of clocks comes at the end of the file. Used by native_binary alone.
#pragma once

#include <functional>
#include <unordered_map>

#include "format/native_reader.h"
#include "format/tick_clock.h"
#include "trace/trace_builder.h"

namespace accel::native_binary {

class DeviceImport {
 public:
  // `name_of`: the batch's string for the id of a name row.
  DeviceImport(TraceBatch& batch, ProcessInfo& process, std::function<StringId(std::uint64_t)> name_of)
      : batch_(batch), process_(process), name_of_(std::move(name_of)) {}

  void devices(const format::NativeRows& rows);
  void launches(const format::NativeRows& rows);
  void events(const format::NativeRows& rows);
  void calls(const format::NativeRows& rows, std::int64_t pid);
  // Ticks of all device events become nanoseconds. Slices of calls are settled with all other slices.
  void settle(const format::TickClock& clock);
  bool empty() const { return batch_.device_events.empty(); }

 private:
  TraceBatch& batch_;
  ProcessInfo& process_;
  std::function<StringId(std::uint64_t)> name_of_;
  std::unordered_map<std::uint64_t, LaunchConfigId> launches_;
};

}  // namespace accel::native_binary
