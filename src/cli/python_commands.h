// Commands that live in the Python package (run): this program hands them to python3 -m accel.profiler and ends as that
// ends.
#pragma once

#include <string>
#include <string_view>

namespace accel::cli {

bool is_python_command(std::string_view word);
// One line for each, for --help.
std::string python_command_lines();
// Replaces this process; returns only when that cannot be done, with the exit status.
int run_python_command(int argc, const char* const* argv);

}  // namespace accel::cli
