// Ctrl-C and termination: the first signal asks the work to stop, which then removes its temporary files and ends; a
// second one, or five seconds without an end, ends the process at once. Process-wide state; install once, from main's
// thread.
#pragma once

namespace accel::cli {

void install_interrupt_handlers();
// Safe from any thread.
bool interrupted();
// Ends the process the way the signal would have, so that shells and job schedulers see what happened. Only returns
// when no signal had come.
void die_of_interrupt();

}  // namespace accel::cli
