// Which other tool has CUPTI in this process, as far as its environment and its libraries tell. Such a tool was there
// first, and CUPTI serves one: a window then leaves the device alone instead of spoiling both recordings.
#pragma once

#include <cstddef>

namespace accel::runtime::cupti {

// Keeps what the environment says of such a tool. On a thread of the host, when the session is switched on: later, on
// our own thread, the host may be changing its environment, which nothing but luck survives.
void look_at_environment();

// Writes "NAME (how it is known)" into `text`. False: none is known. Control thread.
bool other_tool(char* text, std::size_t size);

}  // namespace accel::runtime::cupti
