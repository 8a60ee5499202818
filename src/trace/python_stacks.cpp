#include "trace/python_stacks.h"

#include <algorithm>
#include <charconv>

namespace accel {
namespace {

template <typename Number>
bool take(std::string_view& line, Number& number) {
  while (line.starts_with(' ')) line.remove_prefix(1);
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc()) return false;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  return true;
}

}  // namespace

std::string PythonStacks::to_text() const {
  std::string text;
  for (const Frame& frame : frames) {
    text += "f " + (frame.caller == kNone ? "-1" : std::to_string(frame.caller)) + ' ';
    for (const char letter : frame.name) text += letter == '\n' ? ' ' : letter;
    text += '\n';
  }
  for (const Sample& sample : samples) {
    text += "s " + std::to_string(sample.time_ns) + ' ' + std::to_string(sample.pid) + ' ' +
            std::to_string(sample.tid) + ' ' + std::to_string(sample.frame) + ' ' + std::to_string(sample.state) + '\n';
  }
  return text;
}

PythonStacks PythonStacks::from_text(std::string_view text) {
  PythonStacks stacks;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with("f ")) {
      line.remove_prefix(2);
      std::int64_t caller = -1;
      const bool sound = take(line, caller) && caller < static_cast<std::int64_t>(stacks.frames.size());
      if (line.starts_with(' ')) line.remove_prefix(1);
      // A frame keeps its number whatever it says.
      stacks.frames.push_back({sound && caller >= 0 ? static_cast<std::uint32_t>(caller) : kNone, std::string(line)});
    } else if (line.starts_with("s ")) {
      line.remove_prefix(2);
      Sample sample;
      unsigned state = 0;
      const bool sound = take(line, sample.time_ns) && take(line, sample.pid) && take(line, sample.tid) &&
                         take(line, sample.frame) && take(line, state) && sample.frame < stacks.frames.size();
      sample.state = static_cast<std::uint8_t>(state <= 2 ? state : 0);
      if (sound) stacks.samples.push_back(sample);
    }
  }
  return stacks;
}

}  // namespace accel
