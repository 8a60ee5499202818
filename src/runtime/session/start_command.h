// Starts a command that nobody waits for. Any thread; a few ms, most of them the shell's start.
#pragma once

#include <cstddef>

namespace accel::runtime {

// `script`: text for /bin/sh, put into the background there. `variables`: NAME=VALUE, added to the environment that
// this process was started with: what the host has changed in it since cannot be read without a race with its setenv.
// At most four. Null: started. Else why not.
const char* start_command(const char* script, const char* const* variables, std::size_t count);

// Whether `name` is a program on the PATH that this process was started with.
bool have_program(const char* name);

}  // namespace accel::runtime
