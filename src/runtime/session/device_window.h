// DeviceWindow: the device's side of one capture of level 2: starts CUPTI's records when the window is armed, hands
// them to the file while it is open, stops them when it closes and notes what was lost. Where nothing can be recorded
// the capture says why. Part of its capture; control thread.
#pragma once

#include <cstdint>

#include "runtime/cupti/activity.h"
#include "runtime/cupti/device_rows.h"

namespace accel::runtime {

class Capture;

class DeviceWindow {
 public:
  // `rich`: sets and API calls too. Without a CUDA driver in the process nothing happens and nothing is noted.
  void open(Capture& capture, NameRegistry& names, bool rich);
  // Records that end before `keep_from` are thrown away.
  void drain(std::uint64_t keep_from);
  void close(Capture& capture, std::uint64_t keep_from, bool device_hangs);
  // The capture is thrown away.
  void abandon();

 private:
  void note_losses(Capture& capture);

  cupti::DeviceRows* rows_ = nullptr;
  bool rich_ = false;
  std::int64_t next_flush_ns_ = 0;
  std::uint64_t keep_from_ = 0;
};

}  // namespace accel::runtime
