// PythonWindow: the sampled Python stacks of one capture: starts the sampler when the window is armed, hands its rows
// to the file while it is open, stops it when it closes and notes what it cost and could not see. Part of its capture;
// control thread.
#pragma once

#include <cstdint>

namespace accel::runtime {

class Capture;

class PythonWindow {
 public:
  // Nothing happens where no interpreter was named.
  void open();
  // Samples before `keep_from` are thrown away.
  void drain(Capture& capture, std::uint64_t keep_from);
  void close(Capture& capture, std::uint64_t keep_from);
  // The capture is thrown away.
  void abandon();

 private:
  void write_tree(Capture& capture);

  bool open_ = false;
  std::uint32_t functions_written_ = 0;
  std::uint32_t frames_written_ = 0;
};

}  // namespace accel::runtime
