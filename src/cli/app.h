// The command line: finds the command, parses its options, runs it, and turns every mistake into one line that says
// what to do. Called once, by main().
#pragma once

namespace accel::cli {

int run_command_line(int argc, const char* const* argv);

}  // namespace accel::cli
