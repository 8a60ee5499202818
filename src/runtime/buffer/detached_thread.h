// A thread of the library: detached, named, at a lower priority, with all signals blocked, so that the host's handlers
// run on the host's threads and a write past the file-size limit is an error and no SIGXFSZ.
#pragma once

namespace accel::runtime {

// `body` runs on the new thread; `name` has at most 15 letters and outlives it. False: no thread is to be had.
bool start_detached(const char* name, int nice, void (*body)(void*), void* context);

}  // namespace accel::runtime
