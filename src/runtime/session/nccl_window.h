// NcclWindow: what NCCL told of its operations in one capture. Asks NCCL for events while the window is armed or open
// (one store; nothing when NCCL has not loaded the plugin), writes those that are complete. Part of its capture;
// control thread.
#pragma once

#include <cstdint>

#include "format/native_writer.h"

namespace accel::runtime {

class Capture;

class NcclWindow {
 public:
  // `channels`: with the times of the device, at the cost of NCCL's proxy thread.
  void open(Capture& capture, bool channels);
  // Operations that began before `keep_from` are thrown away.
  void drain(std::uint64_t keep_from);
  void close(Capture& capture, std::uint64_t keep_from);
  // The capture is thrown away.
  void abandon();

 private:
  void take(std::uint64_t keep_from, bool all);
  void flush();

  Capture* capture_ = nullptr;
  char* memory_ = nullptr;
  std::size_t memory_bytes_ = 0;
  format::RowBuffer rows_;
};

}  // namespace accel::runtime
