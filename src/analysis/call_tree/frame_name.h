// What the name of a Python frame says: a module, the user's code, or code of a library that a reader is seldom after.
// Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

namespace accel {

bool is_module_frame(std::string_view name);

// Frames of the interpreter, of frameworks and installed packages, of imports and of generated code.
bool is_library_frame_name(std::string_view name);

// Without the address of the object, which differs from call to call: "<built-in method append of list object>".
std::string frame_without_address(std::string_view name);

}  // namespace accel
