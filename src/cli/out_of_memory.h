// What happens when memory runs out: a sentence on standard error that says what to do, and status 3. Process-wide
// state; install once, from main's thread. Files appear whole or not at all, so nothing half written is left.
#pragma once

namespace accel::cli {

void install_out_of_memory_handler();

}  // namespace accel::cli
