// What the name of a Python frame ("path(line): function") says: its place, whether it is a module, the user's code, or
// code of a library that a reader is seldom after. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace accel {

struct SourceLine {
  std::string_view file;
  std::int64_t line = 0;
  std::string_view function;
};

// Parts of a frame's name; nothing for built-ins and nn.Module frames. Views into `frame`.
std::optional<SourceLine> parse_frame(std::string_view frame);

// "nn.Module: Linear_3"
bool is_module_frame(std::string_view name);

// Frames of the interpreter, of frameworks and installed packages, of imports and of generated code. The profiler
// strips the folder in which packages are installed: "torch/nn/modules/module.py(1783): _call_impl".
bool is_library_frame(std::string_view name);

// "torch", "numpy": the first folder of a file of a package in wide use.
bool is_known_package(std::string_view package);

// "threading.py", "json/decoder.py"
bool is_standard_file(std::string_view file);

// Without the address of the object, which differs from call to call: "<built-in method append of list object>".
std::string frame_without_address(std::string_view name);

}  // namespace accel
