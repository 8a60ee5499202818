// Sampled Python stacks of a capture: where threads of the process and of the workers of its data loader stood at
// random moments, so that shares of samples are shares of time. They travel as text among the options of a trace
// (ProcessInfo::options, kPythonStacks): "f CALLER NAME" for each frame, numbered from 0 in this order, and
// "s TIME PID TID FRAME STATE" for each sample. Values; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace accel {

inline constexpr std::string_view kPythonStacks = "accel_python_stacks";

struct PythonStacks {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Frame {
    std::uint32_t caller = kNone;  // an earlier frame; kNone = outermost
    std::string name;              // path(line): function, as frames are called
  };
  struct Sample {
    std::int64_t time_ns = 0;
    std::int64_t pid = 0;
    std::int64_t tid = 0;
    std::uint32_t frame = 0;  // the innermost
    std::uint8_t state = 0;   // 0 not known, 1 on a processor or ready for one, 2 waiting
  };
  std::vector<Frame> frames;
  std::vector<Sample> samples;

  std::string to_text() const;
  // What is no such line, or names a frame that does not come before it, is left out.
  static PythonStacks from_text(std::string_view text);
};

}  // namespace accel
