// A process on this machine that has the recorder inside: found by number, below a launcher, and asked through its
// socket. Nothing is ever sent to a process that cannot take it. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace accel::cli {

// `pid` and all processes that it has started, directly or not; in ascending order. Empty: there is no such process.
std::vector<int> process_tree(int pid);

// One line for one line; within two seconds. The other end has to be the process itself, as the kernel tells, so that a
// socket that somebody else put there gets nothing.
Result<std::string> ask_recorder(int pid, const std::string& request);

// Whether SIGUSR1 would reach a handler in a process whose recorder runs: to any other it would be death.
bool takes_wake_signal(int pid);

}  // namespace accel::cli
