// Runs independent pieces of work on a few threads. The caller's thread takes part and returns when all pieces are
// done; no thread outlives the call, so there is nothing to own and nothing to shut down.
#pragma once

#include <cstddef>
#include <functional>

namespace accel {

// Threads to use for a request of `wanted` (0 = one per core that this process may use).
unsigned usable_threads(unsigned wanted);

// Calls work(0) ... work(count - 1), each once, in no particular order, on at most `threads` threads.
void parallel_for(unsigned threads, std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace accel
