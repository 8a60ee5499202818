// SIGUSR1 of the host: taken only while its disposition is the default, a handler of anybody is never replaced, and
// given back when it is still ours. The handler counts and writes to the session's eventfd. One thread at a time.
#pragma once

namespace accel::runtime {

// False: it belongs to somebody.
bool take_host_signal();
void give_host_signal_back();

}  // namespace accel::runtime
